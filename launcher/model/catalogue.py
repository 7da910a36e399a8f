"""Flag catalogues: what one version of a program accepts, and how a TOML value becomes its words.

A catalogue file is JSON, one flag a line, with what is usual left out: a flag that says nothing takes
one string. Only the catalogue that is needed is read, and only the flags that are asked for are made.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields, replace
from functools import cached_property
from typing import Any

from launcher.model.entry import LISTS, fault
from launcher.model.fault import Fault, faults
from launcher.model.flag import Flag, Kind, guess, words
from launcher.model.recipe import FlagValue
from launcher.run.record import record
from launcher.text.suggest import nearest

__all__ = ["Catalogue", "Fault", "Flag", "Kind", "dump", "faults", "guess", "load", "spell", "stand_in", "words"]

Nearest = Callable[[str, Iterable[str]], str | None]

SCHEMA = 1
_FIELDS = tuple(each for each in fields(Flag) if each.name not in ("name", "spellings", "within", "types"))


@record
class Catalogue:
    """The flags of one version of a program by canonical name; `source` says what was asked for them.

    `exclusive` are groups of which one may be given. With `prefixes` the program takes any unambiguous
    beginning of a flag (argparse's `allow_abbrev`); where it `folds`, underscores in a flag's name are dashes;
    where flags are `dotted`, a field of a JSON flag may be given by itself. `glued` are spellings that take
    their value without a space (`-O3`), and the key they stand for. `types` are the classes that JSON flags
    name (see `jsontype`). `plugins` is what its configuration may say, where that has a catalogue too.
    """

    program: str
    version: str
    flags: Mapping[str, Flag]
    exclusive: tuple[tuple[str, ...], ...] = ()
    prefixes: bool = False
    source: str = ""
    folds: bool = False
    dotted: bool = False
    glued: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, Any] = field(default_factory=dict)
    plugins: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def spelt(self) -> Mapping[str, Flag]:
        """Every spelling with its dashes; a negative one stands for the flag reversed."""
        return {spelling: self._made(spelling) for spelling in self._names}

    def find(self, key: str) -> Flag | None:
        """The flag a recipe means by `key` (no dashes in front; kebab or snake case as the program takes)."""
        if key not in self._found:
            self._found[key] = self._find(key)
        return self._found[key]

    @cached_property
    def _found(self) -> dict[str, Flag | None]:
        """What was looked for before: every check asks for the same few flags."""
        return {}

    def _find(self, key: str) -> Flag | None:
        if not key or key.startswith("-"):
            return None
        head, dot, tail = key.partition(".")
        name = head.replace("_", "-") if self.folds else head
        if dot:
            return self._field(name, tail)
        return self._named(name) or self._glued(key)

    def exactly(self, key: str) -> Flag | None:
        """The flag that has `key` for a spelling, not cut short and with its own dashes or underscores."""
        spelling = next((each for each in (f"--{key}", f"-{key}") if each in self._names), None)
        return self._made(spelling) if spelling else None

    def _named(self, name: str) -> Flag | None:
        exact = self.exactly(name)
        if exact is not None or not self.prefixes:
            return exact
        starts = (f"--{name}", f"-{name}")
        for start in reversed(starts) if len(name) == 1 else starts:
            at = bisect_left(self._ordered, start)
            begun = [spelling for spelling in self._ordered[at : at + 2] if spelling.startswith(start)]
            if begun:
                return self._made(begun[0]) if len(begun) == 1 else None
        return None

    def _field(self, name: str, tail: str) -> Flag | None:
        """A field of a JSON flag. Its head is looked up as a whole: vLLM joins it before argparse sees it."""
        flag = self._named(name) if self.dotted else None
        path = tuple(tail.split("."))
        return flag.field(path) if flag and flag.kind == "json" and not flag.whole and all(path) else None

    def _glued(self, key: str) -> Flag | None:
        for mark, target in self.glued.items():
            bare = mark.lstrip("-")
            value = key.removeprefix(bare)
            flag = self.find(target) if key.startswith(bare) else None
            if flag is not None and not value:
                return flag
            if flag is not None and value in (flag.choices or _LEVELS):
                return Flag(f"{mark}{value}", (f"{mark}{value}",), "bool")
        return None

    def _made(self, spelling: str) -> Flag:
        name = self._names[spelling]
        flag = self.flags[name]
        if self.types and flag.shape is not None:
            flag = replace(flag, types=self.types)
        return flag.reversed() if spelling in flag.negatives and spelling not in flag.spellings else flag

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """Every spelling and the canonical name of its flag; a positive spelling comes before a negative one."""
        if isinstance(self.flags, _Entries):
            return self.flags.names()
        found: dict[str, str] = {}
        for name, flag in self.flags.items():
            found.update(dict.fromkeys(flag.spellings, name))
        for name, flag in self.flags.items():
            for spelling in flag.negatives:
                # `--flag=false`, which Go's programs take, is the flag with a value.
                if "=" not in spelling:
                    found.setdefault(spelling, name)
        return found

    @cached_property
    def _ordered(self) -> Sequence[str]:
        return sorted(self._names)

    def suggest(self, key: str, near: Nearest = nearest) -> str | None:
        """The key that was probably meant, spelt as a recipe would, or None; dashes in front and case do not count."""
        bare = key.lstrip("-")
        head, dot, tail = bare.partition(".")
        if dot and self.dotted and head not in self._keys:
            found = near(head, self._keys)
            return f"{found}.{tail}" if found else None
        return bare if bare in self._keys else near(bare, self._keys)

    def alike(self, key: str) -> str | None:
        """The key of the same letters, whatever the case, with dashes for underscores or none, or None."""
        return self._bare.get(_letters(key))

    @cached_property
    def _keys(self) -> frozenset[str]:
        return frozenset(spelling.lstrip("-") for spelling in self._names)

    @cached_property
    def _bare(self) -> Mapping[str, str]:
        return {_letters(key): key for key in sorted(self._keys, reverse=True)}


_LEVELS = ("0", "1", "2", "3")
"""What vLLM takes glued to `-O`."""


def _letters(key: str) -> str:
    return re.sub("[-_]", "", key).casefold()


class _Entries(Mapping[str, Flag]):
    """Flags of a file, made when they are asked for."""

    def __init__(self, raw: Mapping[str, Mapping[str, Any]]) -> None:
        self._raw = raw
        self._made: dict[str, Flag] = {}

    def __getitem__(self, name: str) -> Flag:
        if name not in self._made:
            self._made[name] = _flag(name, self._raw[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and dict(self) == dict(other)

    __hash__ = None  # type: ignore[assignment]

    def names(self) -> Mapping[str, str]:
        """Every spelling and the canonical name of its flag."""
        found = {name: name for name in self._raw}
        for name, entry in self._raw.items():
            for spelling in entry.get("aliases", ()):
                found.setdefault(spelling, name)
        for name, entry in self._raw.items():
            for spelling in entry.get("negatives", ()):
                if "=" not in spelling:
                    found.setdefault(spelling, name)
        return found


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
    ordered = sorted(versions, key=numbers)
    below = ordered if wanted is None else [one for one in ordered if numbers(one) <= numbers(wanted)]
    return below[-1] if below else next(iter(ordered), None)


def numbers(version: str) -> list[int]:
    """What versions are compared by."""
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
            flags=_entries(raw["flags"]),
            exclusive=tuple(tuple(group) for group in raw["exclusive"]),
            prefixes=raw["prefixes"],
            source=raw["source"],
            folds=raw.get("folds", False),
            dotted=raw.get("dotted", False),
            glued=raw.get("glued", {}),
            types=raw.get("types", {}),
        )
    except KeyError as error:
        raise ValueError(f"it has no `{error.args[0]}`") from error
    except (TypeError, AttributeError) as error:
        raise ValueError("a value in it is not of the type it should be") from error


def _entries(raw: Mapping[str, Mapping[str, Any]]) -> _Entries:
    for name, entry in raw.items():
        if wrong := fault(name, entry):
            raise ValueError(wrong)
    return _Entries(raw)


def _flag(name: str, entry: Mapping[str, Any]) -> Flag:
    plain = dict(entry)
    for key in LISTS:
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
    unusual = {"folds": catalogue.folds, "dotted": catalogue.dotted, "glued": catalogue.glued}
    head |= {key: value for key, value in unusual.items() if value}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    lines.append(_block("flags", {name: _entry(flag) for name, flag in catalogue.flags.items()}))
    if catalogue.types:
        lines.append(_block("types", catalogue.types))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _block(name: str, entries: Mapping[str, Any]) -> str:
    body = [f"  {json.dumps(key)}: {json.dumps(entry)}" for key, entry in entries.items()]
    return f' "{name}": {{\n' + ",\n".join(body) + "\n }"


def _entry(flag: Flag) -> dict[str, Any]:
    """What the flag has that is not usual."""
    aliases = {"aliases": flag.spellings[1:]} if len(flag.spellings) > 1 else {}
    unusual = {each.name: getattr(flag, each.name) for each in _FIELDS if getattr(flag, each.name) != each.default}
    return {**aliases, **unusual}
