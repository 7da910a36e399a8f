"""Help texts of programs in Go, Rust and C++, as flags; and the shipped catalogue of Envoy."""

import pytest

from launcher.execute.helptext import harvest
from launcher.model.catalogue import Flag
from launcher.model.grammar import Grammar

PFLAG = """Usage of epp:
      --config-file string        The path of the configuration
      --drain-timeout duration    How long (default 30s)
      --ports ints                Ports of the endpoints
  -v, --v int                     log level
      --secure-serving            Serve TLS (default true)
      --old string                DEPRECATED: use the new one
      --help                      show this
"""
GO = """Usage of prog:
  -bind string
    \taddress to listen on (default ":80")
  -count int
    \thow many
  -verbose
    \tsay more
"""
CLAP = """Options:
  -p, --port <PORT>          Port to listen on [default: 3000]
      --policy <POLICY>      How to balance [possible values: random, round_robin]
      --worker <URL>...      Workers
      --dry-run              Change nothing
  -h, --help                 Print help
"""
TCLAP = """USAGE:

   envoy  [--stats-tag <string>] ... [-l <string>]

Where:

   --stats-tag <string>  (accepted multiple times)
     A tag for all statistics.

   -l <string>,  --log-level <string>
     Log level

   --concurrency <uint32_t>
     Number of worker threads

   --allow-unknown-fields
     Allow unknown fields (DEPRECATED)

   -h,  --help
     Displays usage information and exits.
"""
FOUND = {
    ("go", PFLAG): [
        Flag("--config-file", ("--config-file",)),
        Flag(
            "--drain-timeout",
            ("--drain-timeout",),
            pattern=r"0|-?(?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+",
            form="a duration (`90s`, `1m30s`)",
        ),
        Flag("--ports", ("--ports",), kind="int", joined=","),
        Flag("--v", ("--v", "-v"), kind="int"),
        Flag("--secure-serving", ("--secure-serving",), kind="bool", negatives=("--secure-serving=false",)),
        Flag("--old", ("--old",), deprecated=True),
    ],
    ("go", GO): [
        Flag("--bind", ("--bind", "-bind")),
        Flag("--count", ("--count", "-count"), kind="int"),
        Flag("--verbose", ("--verbose", "-verbose"), kind="bool", negatives=("--verbose=false",)),
    ],
    ("rust", CLAP): [
        Flag("--port", ("--port", "-p")),
        Flag("--policy", ("--policy",), choices=("random", "round_robin")),
        Flag("--worker", ("--worker",)),
        Flag("--dry-run", ("--dry-run",), kind="bool"),
    ],
    ("tclap", TCLAP): [
        Flag("--stats-tag", ("--stats-tag",), repeat="append", apart=True),
        Flag("--log-level", ("--log-level", "-l"), choices=("info", "warn"), apart=True),
        Flag("--concurrency", ("--concurrency",), kind="int", apart=True),
        Flag("--allow-unknown-fields", ("--allow-unknown-fields",), kind="bool", deprecated=True),
    ],
}


def grammar(style: str, **more: object) -> Grammar:
    return Grammar.model_validate({"schema": 1, "name": "p", "help": style, **more})


@pytest.mark.parametrize(("style", "text"), FOUND, ids=lambda item: item[:12].strip())
def test_help_becomes_flags(style: str, text: str) -> None:
    more: dict[str, object] = {}
    if style == "tclap":
        more = {"apart": ["*"], "flags": {"--log-level": {"choices": ["info", "warn"]}}}
    made, unread = harvest(grammar(style, **more), "1.2", text)
    assert list(made.flags.values()) == FOUND[style, text]
    assert (made.version, made.source, unread) == ("1.2", "`p --help`", [])


def test_a_text_without_flags_is_refused() -> None:
    with pytest.raises(ValueError, match="no flag is found in the help text of p, read as go"):
        harvest(grammar("go"), "1", "no such program\n")
