"""The flags a role gives its program, by the names the program's catalogue has for them."""

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from launcher.model.catalogue import Catalogue, Flag
from launcher.model.job import Role
from launcher.model.recipe import FlagValue

EMPTY = Catalogue("", "", {})


def spoken(role: Role) -> Iterator[tuple[str, str, FlagValue]]:
    """Every flag that a role gives its program: the table of the role it stands in, key and value.

    First those of `flags`, then those of `config`, where the engine's own file has flags; the first counts where both
    have one.
    """
    for key, value in role.flags.items():
        yield "flags", key, value
    for key, value in role.config.items() if role.manifest.config_flags else ():
        yield "config", key, value


class Given:
    """The flags of a role, found in whatever spelling the recipe has them. A flag may be missing in a version.

    Without a catalogue a flag is found by the name the recipe has for it.
    """

    def __init__(self, role: Role, catalogue: Catalogue | None = None) -> None:
        self.role = role
        self.catalogue = catalogue or role.catalogue or EMPTY

    @cached_property
    def _flags(self) -> Mapping[str, tuple[str, str, Flag | None]]:
        """Canonical name, less its dashes → the table, the recipe's key, and the flag as that spells it."""
        found: dict[str, tuple[str, str, Flag | None]] = {}
        for table, key, _ in spoken(self.role):
            flag = self.catalogue.find(key)
            if flag is None:
                found.setdefault(key, (table, key, None))
                continue
            for spelling in (*flag.spellings, *flag.negatives):
                found.setdefault(spelling.lstrip("-"), (table, key, flag))
        return found

    def key(self, name: str) -> str | None:
        """The recipe's key for the flag, or None."""
        found = self._flags.get(name)
        return found[1] if found else None

    def value(self, name: str) -> Any:
        """What the recipe gives the flag, or None."""
        found = self._flags.get(name)
        return None if found is None else getattr(self.role, found[0])[found[1]]

    def on(self, name: str) -> bool:
        """Whether the flag is given and not switched off, by whichever of its spellings."""
        found = self._flags.get(name)
        if found is None:
            return False
        value, flag = self.value(name), found[2]
        positive = flag is None or f"--{name}" in flag.spellings
        return value is not False if positive else value is False

    def number(self, name: str, default: int = 1) -> int:
        """A whole number; the default where nobody gives one, or something else (which is a finding already)."""
        value = self.value(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else default

    def table(self, name: str) -> Mapping[str, Any]:
        """A flag of JSON as a table, with the fields that are given by themselves; empty where there is none."""
        value = self.value(name)
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                value = None
        found: dict[str, Any] = dict(value) if isinstance(value, dict) else {}
        alone: dict[str, Any] = {}
        for _, key, each in spoken(self.role):
            flag = self.catalogue.find(key)
            if flag is not None and len(flag.within) == 1 and flag.name == f"--{name}.{flag.within[0]}":
                alone.setdefault(flag.within[0], each)
        return {**found, **alone}

    def at(self, name: str, field: str | None = None) -> tuple[str | int, ...]:
        """Path of the flag in the role, for `Role.place`; of a field of it, where that has a place."""
        table, key = self._where(name)
        whole = getattr(self.role, table).get(key)
        if field is None:
            return (table, key)
        if isinstance(whole, Mapping) and field in whole:
            return (table, key, field)
        alone = ((table, key) for table, key, _ in spoken(self.role) if _folded(key).endswith(f".{field}"))
        return next(alone, (table, key))

    def _where(self, name: str) -> tuple[str, str]:
        """The table and key of the flag, or of a field of it that is given by itself."""
        found = self._flags.get(name)
        if found is not None:
            return found[0], found[1]
        begun = ((table, key) for table, key, _ in spoken(self.role) if _folded(key).startswith(f"{name}."))
        return next(begun, ("flags", name))


def _folded(key: str) -> str:
    head, dot, tail = key.partition(".")
    return head.replace("_", "-") + dot + tail
