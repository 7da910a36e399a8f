"""Help texts of programs in Go, Rust and C++, and of click, as flags; and the shipped catalogue of Envoy."""

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
CLICK = """Usage: serve [OPTIONS] MODEL

Options:
  --tokenizer TEXT                Path | Name of the tokenizer.
  --backend [pytorch|_autodeploy]
                                  Deprecated: the backend.
  --tp_size, --tensor_parallel_size INTEGER
                                  Tensor parallelism size, which is said in
                                  very many words so that the text is wrapped.
                                  [default: 1]
  --free_gpu_memory_fraction FLOAT
  --workers INTEGER RANGE         How many.  [x>=1]
  --trust_remote_code             Flag for HF transformers.
  --telemetry / --no-telemetry    Send usage.
  -v, --verbose
  --config, --extra_llm_api_options PATH
  --help                          Show this message and exit.
"""
FOUND = {
    ("click", CLICK): [
        Flag("--tokenizer", ("--tokenizer",)),
        Flag("--backend", ("--backend",), choices=("_autodeploy", "pytorch"), deprecated=True),
        Flag("--tp_size", ("--tp_size", "--tensor_parallel_size"), kind="int"),
        Flag("--free_gpu_memory_fraction", ("--free_gpu_memory_fraction",), kind="float"),
        Flag("--workers", ("--workers",), kind="int", minimum=1),
        Flag("--trust_remote_code", ("--trust_remote_code",), kind="bool"),
        Flag("--telemetry", ("--telemetry",), kind="bool", negatives=("--no-telemetry",)),
        Flag("--verbose", ("--verbose", "-v"), kind="bool"),
        Flag("--config", ("--config", "--extra_llm_api_options")),
    ],
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
