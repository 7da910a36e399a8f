"""The command line: what is accepted, and what is said about the rest."""

from typing import get_args

import pytest

from launcher.cli import GROUPS, NESTED, VERBS, graph, help_text, images, main, parser, verbs
from launcher.cli.guard import Usage
from launcher.cli.images import options
from launcher.cli.options import FORMATS, GRAPHS, OPTIONS, SCHEMAS, SHELLS
from launcher.execute.images import baking, build, make
from launcher.model.cluster import ARCHITECTURES
from launcher.text import report

WRONG = [
    (["ceck"], "there is no verb `ceck`", "did you mean `check`?"),
    (["--halp"], "there is no option `--halp`", "did you mean `--help`?"),
    (["images", "shwo"], "there is no verb `shwo`", "did you mean `show`?"),
    (["images", "rm"], "`ALIAS` is missing", "see `launch images rm --help`"),
    (
        ["up"],
        "`RECIPE` is missing",
        "see `launch up --help`; a recipe is a file, or one of those that `launch config ls`",
    ),
    (["logs"], "`RUN` is missing", "see `launch logs --help`; `launch ps` lists the runs, `last` is the newest"),
    (["exec"], "`RUN` and `STEP` are missing", "see `launch exec --help`; `launch ps` lists the runs"),
    (["schema"], "`recipe|manifest|cluster|config|lock|image` is missing", "see `launch schema --help`"),
    (["up", "x", "--wiat"], "there is no option `--wiat`", "did you mean `--wait`?"),
    (["up", "x", "--wai"], "there is no option `--wai`", "did you mean `--wait`?"),
    (["up", "x", "y"], "`y` is one word too many", "see `launch up --help`"),
    (
        ["exec", "last", "router", "python", "-c", "x"],
        "`python` is one word too many",
        "`--` comes before the command: `launch exec RUN STEP -- COMMAND…`",
    ),
    (["exec", "last", "worker-0"], "`-- COMMAND` is missing", "`launch exec last worker-0 -- env`"),
    (["up", "x", "--timeout"], "`--timeout` needs a value", "see `launch up --help`"),
    (["up", "x", "--wait=1"], "`--wait` takes no value, not `1`", "see `launch up --help`"),
    (["up", "x", "--wait", "--detach"], "`--detach` and `--wait` exclude each other", "see `launch up --help`"),
    (["check", "x", "--format", "ful"], "`--format` does not take `ful`", "did you mean `full`?"),
    (
        ["check", "x", "--format", "yaml"],
        "`--format` does not take `yaml`",
        "one of full, concise, json, github, sarif",
    ),
    (["check", "x", "--cluster", ""], "the value of `--cluster` is empty", "is a variable of the shell not set?"),
    (["plan", "x", "--explain="], "the value of `--explain` is empty", "is a variable of the shell not set?"),
    (["down", ""], "a word of the command line is empty", "is a variable of the shell not set?"),
    (["images", "matrix", "--json", ""], "a word of the command line is empty", "is a variable of the shell not set?"),
    (["logs", "last", "-n", "many"], "`--lines/-n` does not take `many`", "see `launch logs --help`"),
    (
        ["schema", "recipy"],
        "`recipe|manifest|cluster|config|lock|image` does not take `recipy`",
        "did you mean `recipe`?",
    ),
]


@pytest.mark.parametrize(
    ("words", "message", "advice"), WRONG, ids=lambda case: " ".join(case) if isinstance(case, list) else ""
)
def test_wrong_words(capsys: pytest.CaptureFixture[str], words: list[str], message: str, advice: str) -> None:
    assert main(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"error[command-line]: {message}" in shown.err
    assert f"help: {advice}" in shown.err


def test_what_may_be_empty() -> None:
    assert parser("up").read(["r", "--set", "name="]).edits == ((False, "name="),)
    assert parser("exec").read(["last", "worker-0", "--", "printf", ""]).rest == ["printf", ""]


def test_options_stand_anywhere() -> None:
    args = parser("logs").read(["-f", "last", "worker", "--lines", "3", "router"])
    assert (args.run, args.names, args.follow, args.lines) == ("last", ["worker", "router"], True, 3)


def test_words_after_two_dashes_are_not_ours() -> None:
    args = parser("exec").read(["last", "worker-0", "--", "env", "--help", "--", "-x"])
    assert (args.run, args.step, args.rest) == ("last", "worker-0", ["env", "--help", "--", "-x"])
    assert parser("exec").asked(["last", "worker-0", "--", "--help"]) is None


def test_repeated_sets_keep_their_order() -> None:
    args = parser("up").read(["r", "--set", "a=1", "--unset", "b", "--set", "c=-1"])
    assert args.edits == ((False, "a=1"), (True, "b"), (False, "c=-1"))


def test_help_names_every_verb() -> None:
    assert sorted(verb for verbs in GROUPS.values() for verb in verbs) == sorted(VERBS) == sorted([*OPTIONS, *NESTED])
    assert all(f"  {verb} " in help_text() and about in help_text() for verb, (_, about) in VERBS.items())


@pytest.mark.parametrize("verb", verbs())
def test_help_of_a_verb(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert main([*verb.split(), "--help"]) == main(["help", *verb.split()]) == 0
    assert f"usage: launch {verb}" in capsys.readouterr().out


def test_no_words_show_the_help_but_fail(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr() == ("", help_text() + "\n")


def test_choices_are_what_there_is() -> None:
    assert tuple(report.FORMATS) == FORMATS
    assert tuple(graph.GRAPHS) == GRAPHS
    assert set(SCHEMAS) and set(SHELLS)
    assert options.ARCHITECTURES == ARCHITECTURES
    assert get_args(make.By) == options.WITH
    assert get_args(build.Builder) == images.BUILDERS
    assert (*get_args(baking.How), "docker") == images.BAKERS


def test_verbs_of_images(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(images.VERBS) == list(images.OPTIONS)
    assert main(["images"]) == 2
    said = capsys.readouterr().err
    assert main(["images", "--help"]) == main(["help", "images"]) == 0
    assert capsys.readouterr().out == said * 2
    assert all(f"  {verb} " in said and about in said for verb, (_, about) in images.VERBS.items())


def test_error_of_argparse_we_did_not_foresee_is_passed_on() -> None:
    with pytest.raises(Usage) as raised:
        parser("up").error("something new")
    assert raised.value.message == "something new"
