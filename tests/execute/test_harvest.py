"""Harvesting: the shipped catalogues are what the installed programs say, whichever way they are asked."""

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from launcher.execute import harvest, wheel
from launcher.execute.conversion import convert
from launcher.model.catalogue import Flag, dump
from launcher.model.grammar import Grammar
from launcher.text.diagnostic import Refused
from tests.execute.wheels import installed, packed

__all__ = ["installed"]

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
p.add_argument("-t", "--text", default="x")
p.add_argument("--many", type=float, nargs="+", action="extend")
p.add_argument("--use", type=int, nargs=1, action="append", choices=[2, 1])
p.add_argument("--json", type=json.loads)
p.add_argument("--pair", action=argparse.BooleanOptionalAction)
p.add_argument("--odd", type=lambda text: text[:1])
p.add_argument("--old", help="Deprecated, use --text instead.")
p.add_argument("--open", metavar=["b", "a"])
group = p.add_mutually_exclusive_group()
group.add_argument("--one", action="store_true")
group.add_argument("--two", action="store_false")
p.parse_args(rest)
raise AssertionError("the program must not run")
"""
FOUND = [
    Flag("--text", ("--text", "-t"), default="x"),
    Flag("--many", ("--many",), kind="float", arity="+", repeat="extend"),
    Flag("--use", ("--use",), kind="int", arity=1, repeat="append", choices=("1", "2")),
    Flag("--json", ("--json",), kind="json"),
    Flag("--pair", ("--pair",), kind="bool", negatives=("--no-pair",)),
    Flag("--odd", ("--odd",), kind="any"),
    Flag("--old", ("--old",), deprecated=True, instead="--text"),
    Flag("--open", ("--open",), known=("a", "b")),
    Flag("--one", ("--one",), kind="bool"),
    Flag("--two", ("--two",), kind="bool", default=True),
]

GRAMMAR = """
schema = 1
name = "server"
distribution = "server"
dotted = true
needs = []
glued = { "-M" = ["gone", "config.mode"] }
[parser]
fill = "server:fill"
[answers]
"gigantic.cuda.is_available()" = false
[known]
"--parser" = ["server:GONE.keys", "server:PARSERS.keys"]
"Config.role" = ["server:PARSERS.keys"]
[types]
"optional.<locals>.read" = { inner = true, also = ["None"] }
config = { inner = true }
[classes.Config.with]
role = { parts = [] }
gone = { role = [] }
"""
CONFIG = {
    "fields": {
        "role": ["none", {"open": ["a", "b"]}],
        "mode": [{"one": [0, 3]}, {"word": ["off", "fast"]}],
        "inner": ["none", {"is": "Inner"}],
        "parts": {"list": "float"},
    },
    "needs": [],
    "more": "refused",
    "with": {"role": {"parts": []}},
}


def grammar(text: str) -> Grammar:
    return Grammar.model_validate(tomllib.loads(text))


def shipped(program: str) -> Grammar:
    return grammar((FLAGS / program / "grammar.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("program", "version", "told"),
    [("smg", "1.13.0", None), ("vllm-router", "0.1.17", None), ("sim", "0.1.0", "0.1.0")],
)
def test_the_shipped_catalogue_is_the_installed_program(program: str, version: str, told: str | None) -> None:
    made = harvest.from_python(shipped(program), [sys.executable], told)
    assert dump(made.catalogue) == (FLAGS / program / f"{version}.json").read_text(encoding="utf-8")
    assert made.unread == []


def test_every_kind_of_action_becomes_a_flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "every.py").write_text(EVERY, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    every = grammar('schema = 1\nname = "every"\nmodule = ["every", "go"]')
    made, unread = harvest.from_python(every, [sys.executable], "7")
    assert (made.program, made.version, made.prefixes) == ("every", "7", False)
    assert made.source == "the argparse parser of `python -m every go`"
    assert made.exclusive == (("--one", "--two"),)
    assert list(made.flags.values()) == FOUND
    assert unread == ["--odd"]


def test_a_wheel_is_read_without_what_it_imports(tmp_path: Path, installed: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made, unread = harvest.from_wheel(grammar(GRAMMAR), None, packed(tmp_path))
    assert (made.version, unread) == ("2.0", [])
    assert made.types == {
        "Config": CONFIG,
        "Inner": {"fields": {"size": {"int": [1, 8]}}, "needs": [], "more": "refused"},
    }
    assert made.flags["--config"].shape == {"is": "Config"}
    assert made.flags["--limit"].choices == ("1", "2")
    assert made.flags["--limit"].also == ("None",)
    assert made.flags["--parser"].known == ("a", "b")
    assert made.glued == {"-M": "config.mode"}
    (kept,) = (tmp_path / "cache" / "launch" / "sources").iterdir()
    assert sorted(path.name for path in kept.rglob("*") if path.suffix in {".py", ".so"}) == ["server.py"]


def test_a_wheel_is_kept_and_its_compiled_part_only_where_it_is_wanted(tmp_path: Path) -> None:
    first = wheel.extracted(packed(tmp_path), tmp_path / "kept")
    (first / "server.py").write_text("changed", encoding="utf-8")
    assert wheel.extracted(packed(tmp_path), tmp_path / "kept") == first
    assert (first / "server.py").read_text(encoding="utf-8") == "changed"
    assert wheel.unpacked("server", "2.0", tmp_path / "kept") == first
    whole = wheel.extracted(packed(tmp_path), tmp_path / "kept", whole=True)
    assert (whole / "server.so").read_bytes() == b"compiled"


BROKEN = [
    ("import nowhere_at_all.x\nraise KeyError('x')", "KeyError: 'x'"),
    ("def fill(parser): parser.no_such_thing", "AttributeError: 'ArgumentParser' object has no attribute"),
]


@pytest.mark.parametrize(("text", "said"), BROKEN)
def test_a_parser_that_cannot_be_built_says_why(
    text: str, said: str, tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(Refused) as caught:
        harvest.from_wheel(grammar(GRAMMAR), None, packed(tmp_path, text=text))
    (finding,) = caught.value.diagnostics
    assert (finding.code, finding.exit) == ("harvest-failed", 1)
    assert finding.message.startswith(f"the program's parser cannot be imported: {said}")


def test_a_python_that_is_not_there_is_refused() -> None:
    with pytest.raises(Refused) as caught:
        harvest.from_python(shipped("sim"), ["/nowhere/python"], "1")
    assert "cannot be run" in caught.value.diagnostics[0].message


def test_there_must_be_a_place_for_the_cache() -> None:
    with pytest.raises(Refused):
        wheel.cache({})
    assert wheel.cache({"HOME": "/h"}) == Path("/h/.cache/launch/sources")
    assert wheel.cache({"HOME": "/h", "XDG_CACHE_HOME": "/c"}) == Path("/c/launch/sources")


def action(spelling: str, **facts: Any) -> dict[str, Any]:
    plain = dict.fromkeys(("nargs", "type", "choices", "metavar", "default", "instead", "minimum", "maximum"))
    return {
        "action": "_StoreAction",
        "spellings": [spelling],
        "negatives": [],
        "deprecated": False,
        "retired": False,
        "ahead": False,
        **plain,
        **facts,
    }


def test_what_ends_the_program_is_retired_and_hidden_negatives_come_last() -> None:
    gone = action("--gone", action="DeprecatedAction", nargs=0, deprecated=True, retired=True, instead="--new")
    pair = action(
        "--enable-x",
        spellings=["--enable-x", "--disable-x", "--no-enable-x"],
        negatives=["--disable-x", "--no-enable-x"],
        nargs=0,
    )
    raw = {"prefixes": True, "exclusive": [], "actions": [gone, pair], "types": {}, "known": {}}
    made = convert(grammar('schema = 1\nname = "p"\nmodule = ["p"]'), "1", raw, "here").catalogue
    assert made.flags["--gone"] == Flag(
        "--gone", ("--gone",), kind="bool", deprecated=True, retired=True, instead="--new"
    )
    assert made.flags["--enable-x"].negatives == ("--disable-x", "--no-enable-x")
