"""Harvesting: the shipped catalogues are what the installed programs say, and a strange flag is refused by name."""

import sys
from pathlib import Path
from typing import Any

import pytest

from launcher.execute import harvest
from launcher.model.catalogue import Flag, dump, load

FLAGS = Path(__file__).parents[2] / "manifests" / "flags"
EVERY = """
import argparse, json
print("noise")
outer = argparse.ArgumentParser()
outer.add_subparsers(dest="command").add_parser("go", add_help=False)
_, rest = outer.parse_known_args()
p = argparse.ArgumentParser(allow_abbrev=False)
p.add_argument("file", nargs="*")
p.add_argument("--version", action="version", version="1")
p.add_argument("-t", "--text")
p.add_argument("--many", type=float, nargs="+", action="extend")
p.add_argument("--use", type=int, nargs=1, action="append", choices=[2, 1])
p.add_argument("--json", type=json.loads)
p.add_argument("--pair", action=argparse.BooleanOptionalAction)
group = p.add_mutually_exclusive_group()
group.add_argument("--one", action="store_true")
group.add_argument("--two", action="store_false")
p.parse_args(rest)
raise AssertionError("the program must not run")
"""


@pytest.mark.parametrize(
    ("program", "module", "version", "shipped"),
    [("smg", ["smg", "launch"], None, "1.13.0"), ("sim", ["launcher.sim"], "0.1.0", "0.1.0")],
)
def test_the_shipped_catalogue_is_the_installed_program(
    program: str, module: list[str], version: str | None, shipped: str
) -> None:
    made = harvest.harvest(program, module, version=version)
    assert dump(made) == (FLAGS / program / f"{shipped}.json").read_text(encoding="utf-8")


def test_every_kind_of_action_becomes_a_flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "every.py").write_text(EVERY, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    made = harvest.harvest("every", ["every", "go"], sys.executable, version="7")
    assert (made.program, made.version, made.prefixes) == ("every", "7", False)
    assert made.source == "the argparse parser of `python -m every go`"
    assert made.exclusive == (("--one", "--two"),)
    assert list(made.flags.values()) == [
        Flag("--text", ("--text", "-t")),
        Flag("--many", ("--many",), kind="float", arity="+", repeat="extend"),
        Flag("--use", ("--use",), kind="int", arity=1, repeat="append", choices=("1", "2")),
        Flag("--json", ("--json",), kind="json"),
        Flag("--pair", ("--pair",), kind="bool", negatives=("--no-pair",)),
        Flag("--one", ("--one",), kind="bool"),
        Flag("--two", ("--two",), kind="bool"),
    ]


def test_the_command_prints_a_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    assert harvest.main(["smg", "smg", "launch", "--version", "9"]) == 0
    made = load(capsys.readouterr().out)
    assert (made.program, made.version, len(made.flags)) == ("smg", "9", 212)


def action(spelling: str, kind: str = "_StoreAction", reader: str | None = None) -> dict[str, Any]:
    return {"action": kind, "spellings": [spelling], "nargs": None, "type": reader, "choices": None}


def test_flags_that_need_a_hand_are_all_named() -> None:
    strange = [action("--a", "_CountAction"), action("--b"), action("--c", reader="<lambda>")]
    raw = {"prefixes": True, "exclusive": [], "actions": strange}
    with pytest.raises(ValueError, match=r"what these take: --a, --c$"):
        harvest.convert("p", "1", raw, "here")
