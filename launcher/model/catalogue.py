"""Flag catalogues: what one version of a program accepts, and how a TOML value becomes its words.

A catalogue file is JSON, one flag a line, with what is usual left out: a flag that says nothing takes
one string. Only the catalogue that is needed is read.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from launcher.model.flag import Fault, Flag, Kind, faults, guess, words
from launcher.model.recipe import FlagValue
from launcher.text.suggest import nearest

__all__ = ["Catalogue", "Fault", "Flag", "Kind", "dump", "faults", "guess", "load", "spell", "stand_in", "words"]

Nearest = Callable[[str, Iterable[str]], str | None]

SCHEMA = 1
_LISTS = ("negatives", "choices")
_FIELDS = tuple(field for field in fields(Flag) if field.name not in ("name", "spellings"))


@dataclass(frozen=True)
class Catalogue:
    """The flags of one version of a program by canonical name; `source` says what was asked for them.

    `exclusive` are groups of which one may be given. With `prefixes` the program takes any unambiguous
    beginning of a flag (argparse's `allow_abbrev`).
    """

    program: str
    version: str
    flags: Mapping[str, Flag]
    exclusive: tuple[tuple[str, ...], ...] = ()
    prefixes: bool = False
    source: str = ""

    @cached_property
    def spelt(self) -> Mapping[str, Flag]:
        """Every spelling with its dashes; a negative one stands for the flag reversed."""
        found: dict[str, Flag] = {}
        for flag in self.flags.values():
            found.update(dict.fromkeys(flag.spellings, flag))
            if flag.negatives:
                found.update(dict.fromkeys(flag.negatives, flag.reversed()))
        return found

    def find(self, key: str) -> Flag | None:
        """The flag a recipe means by `key` (no dashes in front; kebab or snake case as the program takes)."""
        if not key or key.startswith("-"):
            return None
        exact = self.spelt.get("--" + key) or self.spelt.get("-" + key)
        if exact or not self.prefixes:
            return exact
        at = bisect_left(self._ordered, "--" + key)
        begun = [spelling for spelling in self._ordered[at : at + 2] if spelling.startswith("--" + key)]
        return self.spelt[begun[0]] if len(begun) == 1 else None

    @cached_property
    def _ordered(self) -> Sequence[str]:
        return sorted(self.spelt)

    def suggest(self, key: str, near: Nearest = nearest) -> str | None:
        """The key that was probably meant, spelt as a recipe would, or None; dashes in front and case do not count."""
        bare = key.lstrip("-")
        return bare if bare in self._keys else near(bare, self._keys)

    @cached_property
    def _keys(self) -> frozenset[str]:
        return frozenset(spelling.lstrip("-") for spelling in self.spelt)


def spell(catalogue: Catalogue | None, flags: Mapping[str, FlagValue]) -> list[str]:
    """The words of all `flags`, in their order; without a catalogue, or for a flag it has not, by the value's type."""
    found: list[str] = []
    for key, value in flags.items():
        flag = catalogue.find(key) if catalogue else None
        found += words(flag or guess(key, value), value)
    return found


def stand_in(wanted: str | None, versions: Sequence[str]) -> str | None:
    """The one of `versions` whose catalogue is used for a version that has none: the newest that is not newer,
    else the oldest; the newest where no version is wanted. None where there are none.
    """
    ordered = sorted(versions, key=_numbers)
    below = ordered if wanted is None else [one for one in ordered if _numbers(one) <= _numbers(wanted)]
    return below[-1] if below else next(iter(ordered), None)


def _numbers(version: str) -> list[int]:
    return [int(digits) for digits in re.findall("[0-9]+", version)]


def load(text: str) -> Catalogue:
    """The catalogue that `dump` wrote. Raises ValueError for another schema or a broken text."""
    raw = json.loads(text)
    if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
        raise ValueError(f"not a flag catalogue of schema {SCHEMA}")
    try:
        return Catalogue(
            program=raw["program"],
            version=raw["version"],
            flags={name: _flag(name, entry) for name, entry in raw["flags"].items()},
            exclusive=tuple(tuple(group) for group in raw["exclusive"]),
            prefixes=raw["prefixes"],
            source=raw["source"],
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a flag catalogue: {error}") from error


def _flag(name: str, entry: Mapping[str, Any]) -> Flag:
    plain = dict(entry)
    for key in _LISTS:
        if key in plain:
            plain[key] = tuple(plain[key])
    return Flag(name, (name, *plain.pop("aliases", ())), **plain)


def dump(catalogue: Catalogue) -> str:
    """The catalogue as JSON text, one flag a line; `load(dump(c)) == c`."""
    head = {
        "schema": SCHEMA,
        "program": catalogue.program,
        "version": catalogue.version,
        "source": catalogue.source,
        "prefixes": catalogue.prefixes,
        "exclusive": catalogue.exclusive,
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    flags = [f"  {json.dumps(name)}: {json.dumps(_entry(flag))}" for name, flag in catalogue.flags.items()]
    return "{\n" + ",\n".join(lines) + ',\n "flags": {\n' + ",\n".join(flags) + "\n }\n}\n"


def _entry(flag: Flag) -> dict[str, Any]:
    """What the flag has that is not usual."""
    aliases = {"aliases": flag.spellings[1:]} if len(flag.spellings) > 1 else {}
    unusual = {field.name: getattr(flag, field.name) for field in _FIELDS if getattr(flag, field.name) != field.default}
    return {**aliases, **unusual}
