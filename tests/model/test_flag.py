"""Each shape of flag: the words a TOML value becomes, and the values that are refused, by table."""

import datetime as dt
import math
from collections.abc import Sequence
from typing import Any

import pytest

from launcher.model.catalogue import Flag, faults, guess, words
from launcher.model.flag import LONGEST
from tests.model.shapes import (
    ANY,
    APPEND,
    BOOL,
    CHOICE,
    EXTEND,
    FIELD,
    FILE,
    FLOAT,
    FOLDED,
    INT,
    JOINED,
    JSON,
    KNOWN,
    LISTED,
    MAYBE,
    MIXED,
    NUMBERS,
    OFTEN,
    ONE,
    OPTIONAL,
    PAIR,
    PORT,
    SHAPED,
    SHARE,
    SIZE,
    SNAKE,
    SOME,
    STORE,
    TEXT,
    TWO,
    flag,
)

ACCEPTED = [
    (TEXT, "round_robin", ["--f=round_robin"]),
    (TEXT, "", ["--f="]),
    (TEXT, "-x", ["--f=-x"]),
    (TEXT, "--other", ["--f=--other"]),
    (TEXT, "a b\n\"c\" $d `e` 'f' ü=1,2", ["--f=a b\n\"c\" $d `e` 'f' ü=1,2"]),
    (INT, 0, ["--f=0"]),
    (INT, 2**62, ["--f=4611686018427387904"]),
    (FLOAT, 2, ["--f=2"]),
    (FLOAT, -0.5, ["--f=-0.5"]),
    (FLOAT, math.inf, ["--f=inf"]),
    (BOOL, True, ["--f"]),
    (PAIR, True, ["--f"]),
    (PAIR, False, ["--no-f"]),
    (PAIR.reversed(), True, ["--no-f"]),
    (PAIR.reversed(), False, ["--f"]),
    (JSON, {"a": [1, True, None], "b": {"c": "d, e"}}, ['--f={"a":[1,true,null],"b":{"c":"d, e"}}']),
    (JSON, [1, 2], ["--f=[1,2]"]),
    (JSON, '{"a": 1}', ['--f={"a": 1}']),
    (JSON, {"ü": 'quote " and \\'}, ['--f={"ü":"quote \\" and \\\\"}']),
    (CHOICE, "cold", ["--f=cold"]),
    (FOLDED, "Cold", ["--f=Cold"]),
    (JOINED, ["a", "b"], ["--f=a,b"]),
    (JOINED, "a,b", ["--f=a,b"]),
    (JOINED, [], ["--f="]),
    (NUMBERS, [1, 2], ["--f=1,2"]),
    (NUMBERS, 1, ["--f=1"]),
    (STORE, [], ["--f"]),
    (STORE, "a", ["--f", "a"]),
    (STORE, ["a", "", "-", "-1"], ["--f", "a", "", "-", "-1"]),
    (STORE, ["-x"], ["--f=-x"]),
    (SOME, [1, 0.5], ["--f", "1", "0.5"]),
    (EXTEND, ["a", "b"], ["--f", "a", "b"]),
    (EXTEND, ["a", "-b"], ["--f=a", "--f=-b"]),
    (APPEND, ["a", "-b", ""], ["--f=a", "--f=-b", "--f="]),
    (APPEND, "a", ["--f=a"]),
    (APPEND, [], []),
    (OFTEN, [["http://h:1", "9000"], ["http://h:2"]], ["--f", "http://h:1", "9000", "--f", "http://h:2"]),
    (OFTEN, ["http://h:1", "http://h:2"], ["--f", "http://h:1", "--f", "http://h:2"]),
    (ONE, ["a", "b"], ["--f", "a", "--f", "b"]),
    (TWO, ["a", "b"], ["--f", "a", "b"]),
    (MAYBE, True, ["--f"]),
    (MAYBE, "a", ["--f=a"]),
    (SIZE, 16000, ["--f=16000"]),
    (SIZE, "16k", ["--f=16k"]),
    (SIZE, "2.5m", ["--f=2.5m"]),
    (SIZE, "16K", ["--f=16K"]),
    (SIZE, "Auto", ["--f=Auto"]),
    (OPTIONAL, "None", ["--f=None"]),
    (MIXED, "text", ["--f=text"]),
    (MIXED, {"a": 1}, ['--f={"a":1}']),
    (FILE, "a.yaml", ["--f", "a.yaml"]),
    (KNOWN, "hermes", ["--f=hermes"]),
    (SNAKE, "Flash-Attn", ["--f=Flash-Attn"]),
    (SHAPED, {"a": 1}, ['--f={"a":1}']),
    (SHAPED, '{"a": 80k}', ['--f={"a": 80k}']),
    (SHAPED, '{"a": 8.5k}', ['--f={"a": 8.5k}']),
    (FIELD, 3, ["--f.a=3"]),
    (FIELD, "3", ['--f.a="3"']),
    (ANY, "x", ["--f=x"]),
    (ANY, {"a": 1}, ['--f={"a":1}']),
    (LISTED, ["a", "b"], ["--f=a,b"]),
]


@pytest.mark.parametrize(("given", "value", "expected"), ACCEPTED, ids=lambda item: repr(item)[:40])
def test_accepted_values_become_words(given: Flag, value: Any, expected: Sequence[str]) -> None:
    assert list(faults(given, value)) == []
    assert words(given, value) == expected


REFUSED = [
    (TEXT, 5, (), "wants a string, not a whole number", 'write it in quotes: `f = "5"`'),
    (TEXT, 1.5, (), "wants a string, not a fraction", 'write it in quotes: `f = "1.5"`'),
    (TEXT, {"a": 1}, (), "wants a string, not a table", None),
    (TEXT, ["a"], (), "takes one value, not a list", None),
    (TEXT, [], (), "takes one value, not a list", None),
    (TEXT, True, (), "wants a string, not `true`", None),
    (TEXT, False, (), "has no negative form", "leave it out: it is off unless it is given"),
    (TEXT, dt.date(2026, 1, 2), (), "wants a string, not a date", None),
    (TEXT, "a\0b", (), "cannot carry a NUL character: no program can be given one", None),
    (TEXT, "--", (), "cannot carry the value `--`: to the program it ends the flags", None),
    (
        TEXT,
        "ü" * (LONGEST // 2),
        (),
        "is longer than the 128 KiB one word may have",
        "put it in a file and name that",
    ),
    (INT, "eight", (), "wants a whole number, not a string", "write a number: `f = …`"),
    (INT, "8", (), "wants a whole number, not a string", "write it without quotes: `f = 8`"),
    (INT, "-007", (), "wants a whole number, not a string", "write it without quotes: `f = -7`"),
    (INT, 8.0, (), "wants a whole number, not a fraction", None),
    (INT, True, (), "wants a whole number, not `true`", None),
    (INT, -1, (), "wants 0 or more, not -1", None),
    (PORT, 10, (), "wants 9 or less, not 10", None),
    (SHARE, 1.5, (), "wants 0 to 1, not 1.5", None),
    (SHARE, math.nan, (), "wants 0 to 1, not nan", None),
    (FLOAT, "0.5", (), "wants a number, not a string", "write it without quotes: `f = 0.5`"),
    (FLOAT, "00.50", (), "wants a number, not a string", "write it without quotes: `f = 0.50`"),
    (FLOAT, True, (), "wants a number, not `true`", None),
    (BOOL, "true", (), "is a switch and takes no value", "write `f = true`"),
    (BOOL, 1, (), "is a switch and takes no value", "write `f = true`"),
    (BOOL, ["a"], (), "is a switch and takes no value", "write `f = true`"),
    (BOOL, False, (), "has no negative form", "leave it out: it is off unless it is given"),
    (JSON, "{", (), None, "write a TOML table: it is passed as JSON"),
    (
        JSON,
        {"a": [{"b": dt.time(1, 2)}]},
        ("a", 0, "b"),
        "wants JSON, and a time has no form there",
        "write it as a string",
    ),
    (JSON, {"a": math.nan}, ("a",), "wants JSON, and `nan` has no form there", "write it as a string"),
    (JSON, True, (), "wants a table, not `true`", None),
    (CHOICE, "hot", (), "has no choice `hot`", None),
    (CHOICE, "Cold", (), "has no choice `Cold`", None),
    (CHOICE, 3, (), "wants one of its choices, not a whole number", None),
    (CHOICE, True, (), "wants one of its choices, not `true`", None),
    (flag(choices=("8", "16")), 8, (), "wants one of its choices, not a whole number", 'write it in quotes: `f = "8"`'),
    (FOLDED, "hot", (), "has no choice `hot`", None),
    (JOINED, ["a", "b,c"], (1,), "cannot carry `b,c`: the program reads one list separated by `,`", None),
    (JOINED, ["a", ""], (1,), "cannot carry ``: the program reads one list separated by `,`", None),
    (JOINED, ["a", " b"], (1,), "cannot carry ` b`: the program reads one list separated by `,`", None),
    (NUMBERS, "1,2", (), "wants a whole number, not a string", None),
    (NUMBERS, [1, "2"], (1,), "wants a whole number, not a string", "write it without quotes: `f = 2`"),
    (SOME, [], (), "wants at least one value", None),
    (SOME, [1, "x"], (1,), "wants a number, not a string", None),
    (SOME, [1, -1e-9], (1,), "cannot carry `-1e-09` among others: beginning with a dash, it would be a flag", None),
    (STORE, ["a", "-b"], (1,), "cannot carry `-b` among others: beginning with a dash, it would be a flag", None),
    (STORE, [["a"]], (0,), "takes one value, not a list", None),
    (EXTEND, [], (), "wants at least one value", None),
    (APPEND, ["a", ["b"]], (1,), "takes one value, not a list", None),
    (OFTEN, ["a", []], (1,), "wants at least one value", None),
    (OFTEN, [["a", 1]], (0, 1), "wants a string, not a whole number", 'write it in quotes: `f = "1"`'),
    (ONE, [["a", "b"]], (0,), "wants 1 value each time, not 2", None),
    (TWO, "a", (), "wants 2 values each time, not 1", None),
    (MAYBE, False, (), "has no negative form", "leave it out: it is off unless it is given"),
    (SIZE, "2.5K", (), "wants a whole number or `auto` or `16k`, not a string", "write a number: `f = …`"),
    (SIZE, "k", (), "wants a whole number or `auto` or `16k`, not a string", "write a number: `f = …`"),
    (SIZE, "8", (), "wants a whole number or `auto` or `16k`, not a string", "write it without quotes: `f = 8`"),
    (OPTIONAL, "auto", (), "wants a number, not a string", "write a number: `f = …`"),
    (MIXED, {"b": 1}, ("b",), "has no field `b`", None),
    (MIXED, '{"a"}', (), None, "write a TOML table: it is passed as JSON"),
    (MIXED, 5, (), "wants a string or a table, not a whole number", None),
    (FILE, "a.json", (), "wants a file named `….yaml`, not `a.json`", None),
    (FILE, "-a.yaml", (), "cannot carry `-a.yaml`: beginning with a dash, it would be a flag", None),
    (KNOWN, "hermse", (), "knows no `hermse`", None),
    (SNAKE, "flash", (), "has no choice `flash`", None),
    (SHAPED, {"a": "x"}, ("a",), "wants a whole number, not `x`", None),
    (SHAPED, '{"a": "x"}', (), "has in `a` a value that wants a whole number, not `x`", None),
    (SHAPED, '{"a": 80z}', (), None, "write a TOML table: it is passed as JSON"),
    (FIELD, "x", (), "wants a whole number, not `x`", None),
    (FIELD, math.nan, (), "wants JSON, and `nan` has no form there", "write it as a string"),
    (SHAPED.field(("b",)), 1, (), "has no field `b`", None),
    (LISTED, [], (), "wants at least one value", None),
]


@pytest.mark.parametrize(("given", "value", "path", "phrase", "instead"), REFUSED, ids=lambda item: repr(item)[:40])
def test_refused_values_say_where_and_why(given: Flag, value: Any, path: Any, phrase: str | None, instead: Any) -> None:
    (fault,) = faults(given, value)
    assert (fault.path, fault.help) == (path, instead)
    if phrase is not None:
        assert fault.phrase == phrase


def test_every_fault_of_a_value_is_found() -> None:
    assert [fault.path for fault in faults(NUMBERS, ["a", 1, 2.5, -3])] == [(0,), (2,), (3,)]


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("policy", "a", ["--policy=a"]),
        ("v", 4, ["-v=4"]),
        ("on", True, ["--on"]),
        ("rate", 0.5, ["--rate=0.5"]),
        ("host", ["a", "b"], ["--host=a", "--host=b"]),
        ("config", {"a": 1}, ['--config={"a":1}']),
    ],
)
def test_flags_without_a_catalogue_go_by_their_value(key: str, value: Any, expected: Sequence[str]) -> None:
    assert list(faults(guess(key, value), value)) == []
    assert words(guess(key, value), value) == expected


def test_a_guessed_flag_cannot_be_switched_off() -> None:
    assert [fault.phrase for fault in faults(guess("on", False), False)] == ["has no negative form"]
