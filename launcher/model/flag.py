"""One flag of a program, and which command-line words a TOML value becomes for it."""

import json
import re
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Literal, NamedTuple

from launcher.model.recipe import FlagValue
from launcher.run.record import record

Kind = Literal["str", "int", "float", "bool", "json", "mixed", "any"]
Arity = int | Literal["?", "*", "+"] | None
Repeat = Literal["last", "append", "extend"]
Path = tuple[str | int, ...]

LONGEST = 128 * 1024 - 1
"""Bytes of the longest single word Linux passes to a program (MAX_ARG_STRLEN, less its closing NUL)."""

# argparse takes a word for a value, not a flag, when it looks like this (`_negative_number_matcher`).
_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")


@record
class Flag:
    """One flag. `name` is the canonical spelling with its dashes; `spellings` all positive ones.

    `kind` is the type of one value (`bool`: takes no value; `mixed`: text, or a table as JSON; `any`: nobody knows);
    `arity` is argparse's nargs (`None` one value, an int, `?`, `*`, `+`); `repeat` says what giving it twice does;
    `negatives` are the spellings that switch it off. `joined` is the separator where the program wants a list as one
    word. `choices` is closed and, where `folded`, compared in lower case, where `snake` with underscores; `known` are
    words besides which there may be more. `also` are words that are taken beside values of the kind (`auto`), and
    `suffixes` those a whole number may have: after any number, and after a whole one only (`k m`, `Ki Mi`). `minimum`
    and `maximum` bound a number, included. Text must match `pattern`, which people read as `form`. `shape` is the type
    of a JSON value, in which names stand for `types`. With `apart` the value must be a word of its own, and a JSON
    value that is `whole` has no fields that are given by themselves. `deprecated` flags still work and `retired` ones
    end the program, which knows them only to say so; `instead` is what it says to use. `within` is not empty for a
    field of a JSON flag that is given by itself.
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
    snake: bool = False
    known: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    shape: Any = None
    pattern: str = ""
    form: str = ""
    apart: bool = False
    whole: bool = False
    deprecated: bool = False
    retired: bool = False
    instead: str | None = None
    default: Any = None
    within: tuple[str, ...] = ()
    types: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

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

    def field(self, path: tuple[str, ...]) -> "Flag":
        """A field of this JSON flag as a flag of its own (vLLM's `--compilation-config.mode`)."""
        name = ".".join((self.name, *path))
        return replace(self, name=name, spellings=(name,), within=path, also=(), arity=None, default=None)


class Use(NamedTuple):
    """One appearance of a flag on the command line, with the values that follow it and their paths."""

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
    if flag.within:
        # Read as JSON first, and only then as text (vLLM's `FlexibleArgumentParser`).
        return [f"{flag.name}={_json(value)}"]
    if value is True:
        return [flag.name]
    if value is False:
        return list(flag.negatives[:1])
    if flag.joined is not None:
        items = value if isinstance(value, list) else [value]
        return _one(flag, flag.joined.join(text(flag, item) for item in items))
    return [word for use in uses(flag, value) for word in _use(flag, use)]


def _one(flag: Flag, value: str) -> list[str]:
    return [flag.name, value] if flag.apart else [f"{flag.name}={value}"]


def _use(flag: Flag, use: Use) -> list[str]:
    texts = [text(flag, item) for _, item in use.items]
    if not use.several:
        return _one(flag, texts[0])
    if not any(map(dashed, texts)):
        return [flag.name, *texts]
    return [f"{flag.name}={word}" for word in texts]


def uses(flag: Flag, value: FlagValue) -> list[Use]:
    """The appearances that `value` asks for: one for each item where the flag appends, else one in all."""
    if flag.repeat == "append" and isinstance(value, list):
        return [_appearance(flag, (index,), item) for index, item in enumerate(value)]
    return [_appearance(flag, (), value)]


def _appearance(flag: Flag, path: Path, value: Any) -> Use:
    if flag.arity in (None, "?"):
        return Use(path, ((path, value),), several=False)
    if isinstance(value, list):
        return Use(path, tuple(((*path, index), item) for index, item in enumerate(value)), several=True)
    return Use(path, ((path, value),), several=True)


def text(flag: Flag, item: Any) -> str:
    """One value as the program reads it."""
    if isinstance(item, str):
        return item
    if flag.kind == "json" or isinstance(item, bool | dict | list):
        return _json(item)
    return repr(item)


def _json(item: Any) -> str:
    return json.dumps(item, separators=(",", ":"), ensure_ascii=False, default=str)


def dashed(word: str) -> bool:
    """Whether argparse would take a word of its own for a flag."""
    return word.startswith("-") and word != "-" and not _NEGATIVE.fullmatch(word)
