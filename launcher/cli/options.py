"""The options of every verb. argparse alone, so that help and completion need no verb's module."""

import argparse
from collections.abc import Callable, Mapping
from typing import Any

Parser = argparse.ArgumentParser

FORMATS = ("full", "concise", "json", "github", "sarif")
"""`check --format`; a test holds it to `text.report.FORMATS`."""

GRAPHS = ("text", "mermaid")
"""`plan --graph`; a test holds it to `graph.GRAPHS`."""

FLAG_VERBS = ("show", "diff", "harvest")
SHELLS = ("bash", "zsh", "fish")
WORDS = ("recipes", "clusters", "codes", "aliases", "runs", "steps")
"""`completion --words`; a test holds it to `words.WORDS`."""

SCHEMAS = ("recipe", "manifest", "cluster", "config", "lock", "image")

_RECIPE = "`./my.toml`, `my.toml:VARIANT`, `-` for stdin, or the name of a shipped recipe (`quickstart`)"
_RUN = "id of a run, the start of one, or `last`; `launch ps` lists them"


def check(parser: Parser) -> None:
    """`launch check`."""
    _recipe(parser, several=True)
    parser.add_argument(
        "--probe", action="store_true", help="ask this machine too, as `up` does: ports, programs, variables, preambles"
    )
    choice(parser, "--format", FORMATS, default="full", help="how findings are drawn; default `full`")
    parser.add_argument("--fix", action="store_true", help="rename keys where there is no doubt; comments stay")


def plan(parser: Parser) -> None:
    """`launch plan`."""
    _recipe(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--json",
        action="store_true",
        help="plan and script as one JSON document; U+FDD0 and U+FDD1 stand round what is known when the run starts",
    )
    choice(form, "--graph", GRAPHS, help="a picture instead of the table")
    form.add_argument("--explain", metavar="KEY", help="who set a key, lowest layer first: `roles.worker.replicas`")
    parser.add_argument(
        "--diff",
        metavar="RUN|RECIPE",
        help="what changed since that run's plan, or from that recipe's, to this one; exit code 1 where anything did",
    )


def render(parser: Parser) -> None:
    """`launch render`."""
    _recipe(parser)
    parser.add_argument("--json", action="store_true", help="the Script as one JSON document")


def explain(parser: Parser) -> None:
    """`launch explain`."""
    parser.add_argument(
        "code", metavar="CODE", nargs="?", help="word in the brackets of `error[CODE]`; default: list all"
    )


def up(parser: Parser) -> None:
    """`launch up`."""
    _recipe(parser)
    until = parser.add_mutually_exclusive_group()
    until.add_argument("--follow", action="store_true", help="stay until the run ends; Ctrl-C stops it (the default)")
    until.add_argument("--wait", action="store_true", help="return when the run is ready, or has failed")
    until.add_argument("--detach", action="store_true", help="return when the run is started")
    until.add_argument("--dry-run", action="store_true", help="do everything but start: checks, audits, the plan")
    parser.add_argument("--timeout", metavar="TIME", help="budget until ready: `90s`, `45m`; above the recipe's")
    parser.add_argument(
        "--in",
        metavar="JOBID",
        dest="job",
        help="run in an allocation that is there: the default inside `salloc`; `new` submits a job all the same",
    )
    parser.add_argument(
        "--update-lock", action="store_true", help="lock the images of the recipe as they are now, then use those"
    )
    parser.add_argument("--hold", action="store_true", help="keep the job when the run ends, for `--in` of another")


def ps(parser: Parser) -> None:
    """`launch ps`."""
    parser.add_argument("--all", "-a", action="store_true", help="runs that have ended as well")
    document(parser)


def logs(parser: Parser) -> None:
    """`launch logs`."""
    _run(parser)
    parser.add_argument(
        "names",
        metavar="ROLE|STEP",
        nargs="*",
        help="whose output; what no step wrote is that of `batch` (a job) or `supervisor`; default: everyone's",
    )
    parser.add_argument("--follow", "-f", action="store_true", help="go on until the run ends")
    parser.add_argument("--lines", "-n", metavar="N", type=int, help="only the last N lines of each step")


def wait(parser: Parser) -> None:
    """`launch wait`."""
    _run(parser)
    parser.add_argument("--ended", action="store_true", help="wait for the end of the run, not until it is ready")
    parser.add_argument("--timeout", metavar="TIME", help="give up after `90s`, `45m`, with exit code 6")


def exec_(parser: Parser) -> None:
    """`launch exec`."""
    parser.usage = "launch exec RUN STEP -- COMMAND…"
    _run(parser)
    parser.add_argument("step", metavar="STEP", help="whose environment and directory; a role means its first step")


def down(parser: Parser) -> None:
    """`launch down`."""
    parser.add_argument("run", metavar="RUN", nargs="*", help=_RUN)
    parser.add_argument("--all", "-a", action="store_true", help="every run of this user on this machine")


def flags(parser: Parser) -> None:
    """`launch flags`."""
    parser.usage = (
        "launch flags show PROGRAM[@VERSION] [PATTERN]\n"
        "       launch flags diff PROGRAM VERSION VERSION\n"
        "       launch flags harvest PROGRAM [VERSION] [--wheel PATH | --python COMMAND | --help-text FILE]"
    )
    choice(parser, "what", FLAG_VERBS, help="`show` what a program takes, `diff` two versions, `harvest` a new one")
    parser.add_argument("program", metavar="PROGRAM", help="`vllm`, `vllm@0.33.0`, `sglang`, `smg` …")
    parser.add_argument("words", metavar="WORD", nargs="*", help="`show`: part of a flag's name; else versions")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--wheel", metavar="PATH", help="`harvest` this wheel, or the folder it was unpacked to")
    source.add_argument(
        "--python", metavar="COMMAND", help="`harvest` what this Python has: a path, or `srun … python3` in an image"
    )
    source.add_argument("--help-text", metavar="FILE", help="`harvest` what `--help` printed; `-` for stdin")
    source.add_argument("--again", action="store_true", help="`harvest` all versions there are, and the newest")
    parser.add_argument("--into", metavar="DIR", help="where `harvest` writes; default: the user's configuration")
    parser.add_argument(
        "--unlike", action="store_true", help="`harvest` though most flags of the version before are gone"
    )
    parser.add_argument("--json", action="store_true", help="`show`, `diff`: one JSON document")


def schema(parser: Parser) -> None:
    """`launch schema`."""
    choice(parser, "name", SCHEMAS, help="kind of file")


def config(parser: Parser) -> None:
    """`launch config`."""
    choice(
        parser,
        "what",
        ("path", "show", "ls"),
        help="`path`: the files of a cluster, lowest first; `show`: what they come to; `ls`: the recipes, role "
        "manifests, clusters and definitions of images that can be named",
    )
    _cluster(parser)


def completion(parser: Parser) -> None:
    """`launch completion`."""
    choice(
        parser,
        "shell",
        SHELLS,
        nargs="?",
        help="bash, zsh: `source <(launch completion bash)`; fish: `launch completion fish | source`",
    )
    choice(parser, "--words", WORDS, help="what these scripts ask for; `steps` are those of `--run`")
    parser.add_argument("--run", metavar="RUN", default="last", help=_RUN)


class _Edit(argparse.Action):
    """Collects `--set` and `--unset` in one list: they are applied in the order they were written."""

    def __call__(self, parser: Parser, namespace: Any, values: Any, option_string: str | None = None) -> None:
        namespace.edits = (*namespace.edits, (option_string == "--unset", values))


OPTIONS: Mapping[str, Callable[[Parser], None]] = {
    "check": check,
    "plan": plan,
    "render": render,
    "explain": explain,
    "up": up,
    "ps": ps,
    "logs": logs,
    "wait": wait,
    "exec": exec_,
    "down": down,
    "flags": flags,
    "schema": schema,
    "config": config,
    "completion": completion,
}
"""Verb → what adds its options to a parser."""


def _recipe(parser: Parser, *, several: bool = False) -> None:
    parser.add_argument("recipe", metavar="RECIPE", nargs="+" if several else None, help=_RECIPE)
    _cluster(parser)
    edits(parser)
    parser.add_argument(
        "--simulate",
        action="store_true",
        help="rehearse: the simulated engine in the place of every engine's program, all else as it would be",
    )


def edits(parser: Parser) -> None:
    """`--set` and `--unset` of recipes."""
    for name, value, said in (
        (
            "--set",
            "KEY=VALUE",
            "set a key: `roles.worker.replicas=4`; the value is TOML, else a string; may be repeated",
        ),
        ("--unset", "KEY", "take a key out of the recipe; may be repeated"),
    ):
        parser.add_argument(name, metavar=value, action=_Edit, dest="edits", default=(), help=said)


def _cluster(parser: Parser) -> None:
    parser.add_argument(
        "--cluster",
        metavar="NAME|FILE",
        help="where it runs; default `$LAUNCH_CLUSTER`, else as `config.toml` says, else `local`: this machine, "
        "no Slurm, no containers",
    )


def _run(parser: Parser) -> None:
    parser.add_argument("run", metavar="RUN", help=_RUN)


def document(parser: Parser) -> None:
    """`--json`, of a verb that prints one."""
    parser.add_argument("--json", action="store_true", help="one JSON document")


def choice(parser: Any, name: str, choices: tuple[str, ...], **more: Any) -> None:
    """An option or word that takes one of a few; help shows them."""
    parser.add_argument(name, choices=choices, metavar="|".join(choices), **more)
