"""One flag of a program: which TOML values it takes, and which command-line words they become."""

import datetime as dt
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from launcher.model.recipe import FlagValue

Kind = Literal["str", "int", "float", "bool", "json"]
Arity = int | Literal["?", "*", "+"] | None
Repeat = Literal["last", "append", "extend"]
Path = tuple[str | int, ...]

LONGEST = 128 * 1024 - 1
"""Bytes of the longest single word Linux passes to a program (MAX_ARG_STRLEN, less its closing NUL)."""

# argparse takes a word for a value, not a flag, when it looks like this (`_negative_number_matcher`).
_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")


@dataclass(frozen=True)
class Flag:
    """One flag. `name` is the canonical spelling with its dashes; `spellings` all positive ones.

    `kind` is the type of one value (`bool`: takes no value); `arity` is argparse's nargs (`None` one
    value, an int, `?`, `*`, `+`); `repeat` says what giving it twice does; `negatives` are the spellings
    that switch it off. `joined` is the separator where the program wants a list as one word. `choices`
    is closed and, where `folded`, compared in lower case. `minimum` and `maximum` bound a number, included.
    """

    name: str
    spellings: tuple[str, ...]
    kind: Kind = "str"
    arity: Arity = None
    repeat: Repeat = "last"
    negatives: tuple[str, ...] = ()
    joined: str | None = None
    choices: tuple[str, ...] = ()
    folded: bool = False
    minimum: int | None = None
    maximum: int | None = None

    @property
    def key(self) -> str:
        """The flag as a recipe spells it: `policy` for `--policy`."""
        return self.name.lstrip("-")

    @property
    def negative(self) -> str | None:
        """The spelling that switches the flag off, or None."""
        return self.negatives[0] if self.negatives else None

    def reversed(self) -> "Flag":
        """The negative spelling as a flag of its own: its `true` is this one's `false`."""
        return replace(self, name=self.negatives[0], spellings=self.negatives, negatives=self.spellings)

    def same(self, other: "Flag") -> bool:
        """Whether both are spellings of one flag, positive or negative."""
        return other.name in self.spellings or other.name in self.negatives


class Fault(NamedTuple):
    """What is wrong with a value: `path` inside it, a predicate (`wants …`), and what to write instead."""

    path: Path
    phrase: str
    help: str | None = None


class _Use(NamedTuple):
    """One appearance of a flag on the command line, with the values that follow it."""

    path: Path
    items: tuple[tuple[Path, Any], ...]
    several: bool


def guess(key: str, value: FlagValue) -> Flag:
    """A flag of a program without a catalogue, judged by its value alone: a list repeats it, a table is JSON."""
    sample = value[0] if isinstance(value, list) and value else value
    kind: Kind = "str"
    for python, name in _KINDS.items():
        if type(sample) is python:
            kind = name
    spelt = ("-" if len(key) == 1 else "--") + key
    return Flag(spelt, (spelt,), kind, repeat="append" if isinstance(value, list) else "last")


_KINDS: dict[type, Kind] = {bool: "bool", int: "int", float: "float", dict: "json"}


def words(flag: Flag, value: FlagValue) -> list[str]:
    """Command-line words for `flag` with `value`, exact to the byte where `faults` finds nothing.

    A value with faults has words too, the likeliest: whoever allows the finding runs those. One value is
    `--flag=value`, so that an empty one or one that begins with a dash stays a value.
    """
    if value is True:
        return [flag.name]
    if value is False:
        return list(flag.negatives[:1])
    if flag.joined is not None:
        items = value if isinstance(value, list) else [value]
        return [f"{flag.name}={flag.joined.join(_text(flag, item) for item in items)}"]
    return [word for use in _uses(flag, value) for word in _use(flag, use)]


def _use(flag: Flag, use: _Use) -> list[str]:
    texts = [_text(flag, item) for _, item in use.items]
    if not use.several:
        return [f"{flag.name}={texts[0]}"]
    if not any(map(_dashed, texts)):
        return [flag.name, *texts]
    return [f"{flag.name}={text}" for text in texts]


def faults(flag: Flag, value: FlagValue) -> Iterator[Fault]:
    """Everything that is wrong with `value`, so that `words` would not reach the program as it was meant."""
    if isinstance(value, bool):
        yield from _switch(flag, value)
    elif flag.kind == "bool":
        yield Fault((), "is a switch and takes no value", f"write `{flag.key} = true`")
    elif flag.joined is not None:
        yield from _joined(flag, flag.joined, value)
    else:
        for use in _uses(flag, value):
            yield from _count(flag, use)
            for path, item in use.items:
                yield from _item(flag, path, item)
                yield from _leading(flag, use, path, item)


def _switch(flag: Flag, value: bool) -> Iterator[Fault]:
    """A bare flag, or its negative form: whatever the flag takes, that is what `true` and `false` mean."""
    if not value and not flag.negatives:
        yield Fault((), "has no negative form", "leave it out: it is off unless it is given")
    elif value and flag.kind != "bool" and flag.arity != "?":
        yield Fault((), f"wants {_WANTED[flag.kind]}, not `true`")


def _uses(flag: Flag, value: FlagValue) -> list[_Use]:
    """The appearances that `value` asks for: one for each item where the flag appends, else one in all."""
    if flag.repeat == "append" and isinstance(value, list):
        return [_appearance(flag, (index,), item) for index, item in enumerate(value)]
    return [_appearance(flag, (), value)]


def _appearance(flag: Flag, path: Path, value: Any) -> _Use:
    if flag.arity in (None, "?"):
        return _Use(path, ((path, value),), several=False)
    if isinstance(value, list):
        return _Use(path, tuple(((*path, index), item) for index, item in enumerate(value)), several=True)
    return _Use(path, ((path, value),), several=True)


def _count(flag: Flag, use: _Use) -> Iterator[Fault]:
    got = len(use.items)
    if flag.arity == "+" and not got:
        yield Fault(use.path, "wants at least one value")
    elif isinstance(flag.arity, int) and got != flag.arity:
        yield Fault(use.path, f"wants {flag.arity} value{'s' * (flag.arity != 1)} each time, not {got}")


def _item(flag: Flag, path: Path, item: Any) -> Iterator[Fault]:
    """Faults of one value by its type; a value of the right type is then looked at as text."""
    found = list(_json(path, item) if flag.kind == "json" else _typed(flag, path, item))
    yield from found
    if not found:
        yield from _textual(flag, path, _text(flag, item))


def _typed(flag: Flag, path: Path, item: Any) -> Iterator[Fault]:
    wanted = {"str": str, "int": int, "float": (int, float)}[flag.kind]
    if isinstance(item, list):
        yield Fault(path, "takes one value, not a list")
    elif isinstance(item, bool) or not isinstance(item, wanted):  # type: ignore[arg-type]
        yield Fault(path, f"wants {_WANTED[flag.kind]}, not {_kind(item)}", _instead(flag, item))
    elif not (flag.minimum is None or item >= flag.minimum) or not (flag.maximum is None or item <= flag.maximum):
        yield Fault(path, f"wants {_range(flag)}, not {item}")


def _range(flag: Flag) -> str:
    if flag.maximum is None:
        return f"{flag.minimum} or more"
    return f"{flag.maximum} or less" if flag.minimum is None else f"{flag.minimum} to {flag.maximum}"


_WANTED = {"str": "a string", "int": "a whole number", "float": "a number", "json": "a table"}


def _instead(flag: Flag, item: Any) -> str | None:
    """How to write `item` so that the flag takes it, where that is plain."""
    if flag.kind == "str" and type(item) in (int, float):
        return f'write it in quotes: `{flag.key} = "{item}"`'
    if isinstance(item, str) and flag.kind in ("int", "float") and re.fullmatch(r"-?[0-9]+", item):
        return f"write it without quotes: `{flag.key} = {item}`"
    return None


def _textual(flag: Flag, path: Path, text: str) -> Iterator[Fault]:
    if flag.choices and (text.lower() if flag.folded else text) not in flag.choices:
        yield Fault(path, f"has no choice `{text}`")
    if "\0" in text:
        yield Fault(path, "cannot carry a NUL character: no program can be given one")
    if text == "--":
        yield Fault(path, "cannot carry the value `--`: to the program it ends the flags")
    if len(text.encode()) + len(flag.name) + 1 > LONGEST:
        yield Fault(path, "is longer than the 128 KiB one word may have", "put it in a file and name that")


def _leading(flag: Flag, use: _Use, path: Path, item: Any) -> Iterator[Fault]:
    """Faults of a value that would be taken for a flag because it follows others as a word of its own."""
    if not use.several or flag.repeat == "extend" or len(use.items) == 1:
        return
    if isinstance(item, str | int | float) and _dashed(_text(flag, item)):
        yield Fault(path, f"cannot carry `{item}` among others: beginning with a dash, it would be a flag")


def _dashed(text: str) -> bool:
    return text.startswith("-") and text != "-" and not _NEGATIVE.fullmatch(text)


def _joined(flag: Flag, separator: str, value: FlagValue) -> Iterator[Fault]:
    """A list that becomes one word; text that is already joined is taken as it is."""
    if isinstance(value, str) and flag.kind == "str":
        yield from _item(flag, (), value)
        return
    items = value if isinstance(value, list) else [value]
    for index, item in enumerate(items):
        path = (index,) if items is value else ()
        yield from _item(flag, path, item)
        if flag.kind == "str" and isinstance(item, str) and (separator in item or item != item.strip() or not item):
            yield Fault(path, f"cannot carry `{item}`: the program reads one list separated by `{separator}`")


def _json(path: Path, item: Any) -> Iterator[Fault]:
    """Faults of a value that is to be JSON: text must be JSON already, everything else must have a JSON form."""
    if isinstance(item, str):
        try:
            json.loads(item)
        except ValueError as error:
            yield Fault(path, f"is not JSON: {str(error).lower()}", "write a TOML table: it is passed as JSON")
        return
    yield from _unjson(path, item)


def _unjson(path: Path, item: Any) -> Iterator[Fault]:
    if isinstance(item, dict):
        for key, inner in item.items():
            yield from _unjson((*path, key), inner)
    elif isinstance(item, list):
        for index, inner in enumerate(item):
            yield from _unjson((*path, index), inner)
    elif isinstance(item, dt.date | dt.time) or (isinstance(item, float) and not math.isfinite(item)):
        yield Fault(path, f"wants JSON, and {_kind(item)} has no form there", "write it as a string")


def _text(flag: Flag, item: Any) -> str:
    if isinstance(item, str):
        return item
    if flag.kind == "json" or isinstance(item, bool | dict | list):
        return json.dumps(item, separators=(",", ":"), ensure_ascii=False, default=str)
    return repr(item)


def _kind(value: Any) -> str:
    """What people call a TOML value, with its article."""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, float) and not math.isfinite(value):
        return f"`{value}`"
    for python, name in _NAMES:
        if isinstance(value, python):
            return name
    return "this"


_NAMES: Sequence[tuple[type, str]] = (
    (str, "a string"),
    (int, "a whole number"),
    (float, "a fraction"),
    (list, "a list"),
    (dict, "a table"),
    (dt.datetime, "a date"),
    (dt.date, "a date"),
    (dt.time, "a time"),
)
