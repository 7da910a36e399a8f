"""What changed between two versions of a program, in words."""

import pytest

from launcher.model.catalogue import Catalogue, Flag
from launcher.model.change import Change, changes, takes


def catalogue(version: str, *flags: Flag, fields: tuple[str, ...] = ()) -> Catalogue:
    types = {"T": {"fields": dict.fromkeys(fields, "any"), "needs": [], "more": "kept"}}
    return Catalogue("p", version, {flag.name: flag for flag in flags}, types=types)


OLD = catalogue(
    "1",
    Flag("--gone", ("--gone",), deprecated=True, instead="--new"),
    Flag("--lost", ("--lost",)),
    Flag("--same", ("--same",)),
    Flag("--choice", ("--choice",), choices=("a", "b"), default="a"),
    Flag("--typed", ("--typed",)),
    Flag("--config", ("--config",), kind="json", shape={"is": "T"}),
    Flag("--alias", ("--alias", "--other")),
    fields=("x", "y"),
)
NEW = catalogue(
    "2",
    Flag("--new", ("--new",), kind="int"),
    Flag("--same", ("--same",)),
    Flag("--choice", ("--choice",), choices=("b", "c"), default="c"),
    Flag("--typed", ("--typed",), kind="int", deprecated=True, instead="--new"),
    Flag("--config", ("--config",), kind="json", shape={"is": "T"}),
    Flag("--other", ("--other", "--alias")),
    fields=("y", "z"),
)


def test_what_came_went_and_changed() -> None:
    assert list(changes(OLD, NEW)) == [
        Change("removed", "gone", "use `new`"),
        Change("removed", "lost", ""),
        Change("added", "new", "a whole number"),
        Change("changed", "choice", "choices -a +c; default `a` → `c`"),
        Change("changed", "typed", "kind `str` → `int`; deprecated, use `new`"),
        Change("changed", "config", "fields -x +z"),
    ]
    assert list(changes(NEW, NEW)) == []


TAKES = [
    (Flag("--f", ("--f",)), "text"),
    (Flag("--f", ("--f",), kind="bool"), "a switch"),
    (Flag("--f", ("--f",), kind="bool", negatives=("--no-f",)), "a switch, off by `no-f`"),
    (
        Flag("--f", ("--f",), kind="int", suffixes=("k", "K"), also=("auto", "None")),
        "a whole number or `auto` or `16k`",
    ),
    (Flag("--f", ("--f",), choices=("a", "b"), arity="+"), "a list: one of a, b"),
    (Flag("--f", ("--f",), kind="json", shape={"is": "T"}), "a table (T)"),
    (Flag("--f", ("--f",), pattern=".*", form="a file"), "a file"),
    (Flag("--f", ("--f",), repeat="append"), "text, may be repeated"),
    (Flag("--f", ("--f",), joined=",", kind="int"), "a list: a whole number"),
]


@pytest.mark.parametrize(("flag", "text"), TAKES)
def test_what_a_flag_takes_in_words(flag: Flag, text: str) -> None:
    assert takes(flag) == text
