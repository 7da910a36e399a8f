"""The flags a role gives its program, by the names the program's catalogue has for them."""

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from launcher.model.catalogue import Catalogue, Flag
from launcher.model.job import Role

EMPTY = Catalogue("", "", {})


class Given:
    """The flags of a role, found in whatever spelling the recipe has them. A flag may be missing in a version.

    Without a catalogue a flag is found by the name the recipe has for it.
    """

    def __init__(self, role: Role, catalogue: Catalogue | None = None) -> None:
        self.role = role
        self.catalogue = catalogue or role.catalogue or EMPTY

    @cached_property
    def _flags(self) -> Mapping[str, tuple[str, Flag | None]]:
        """Canonical name, less its dashes → the recipe's key and the flag as that spells it."""
        found: dict[str, tuple[str, Flag | None]] = {}
        for key in self.role.flags:
            flag = self.catalogue.find(key)
            if flag is None:
                found.setdefault(key, (key, None))
                continue
            for spelling in (*flag.spellings, *flag.negatives):
                found.setdefault(spelling.lstrip("-"), (key, flag))
        return found

    def key(self, name: str) -> str | None:
        """The recipe's key for the flag, or None."""
        found = self._flags.get(name)
        return found[0] if found else None

    def value(self, name: str) -> Any:
        """What the recipe gives the flag, or None."""
        key = self.key(name)
        return None if key is None else self.role.flags[key]

    def on(self, name: str) -> bool:
        """Whether the flag is given and not switched off, by whichever of its spellings."""
        found = self._flags.get(name)
        if found is None:
            return False
        key, flag = found
        value = self.role.flags[key]
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
        for key, flag in ((key, self.catalogue.find(key)) for key in self.role.flags):
            if flag is not None and len(flag.within) == 1 and flag.name == f"--{name}.{flag.within[0]}":
                found[flag.within[0]] = self.role.flags[key]
        return found

    def at(self, name: str, field: str | None = None) -> tuple[str | int, ...]:
        """Path of the flag in the role, for `Role.place`; of a field of it, where that has a place."""
        key = self.key(name) or next((key for key in self.role.flags if _folded(key).startswith(f"{name}.")), None)
        whole = self.role.flags.get(key) if key else None
        if field is not None and not (isinstance(whole, dict) and field in whole):
            alone = next((each for each in self.role.flags if _folded(each).endswith(f".{field}")), None)
            return ("flags", alone or key or name)
        return ("flags", key or name, field) if field is not None else ("flags", key or name)


def _folded(key: str) -> str:
    head, dot, tail = key.partition(".")
    return head.replace("_", "-") + dot + tail
