"""What a role says to its program, by the names its catalogue has for flags."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from launcher.checks.case import Case
from launcher.checks.flags import drift
from launcher.model.catalogue import Catalogue, Flag
from launcher.model.job import Role
from launcher.text.diagnostic import Diagnostic, Label, Severity


class Said:
    """The flags of a role, found in whatever spelling the recipe has them. A flag may be missing in a version."""

    def __init__(self, role: Role, catalogue: Catalogue) -> None:
        self.role = role
        self.catalogue = catalogue

    @cached_property
    def _flags(self) -> Mapping[str, tuple[str, Flag]]:
        """Canonical name, less its dashes → the recipe's key and the flag as that spells it."""
        found: dict[str, tuple[str, Flag]] = {}
        for key in self.role.flags:
            flag = self.catalogue.find(key)
            if flag is not None:
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
        return value is not False if f"--{name}" in flag.spellings else value is False

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
        key = self.key(name)
        whole = self.role.flags.get(key) if key else None
        if field is not None and not (isinstance(whole, dict) and field in whole):
            alone = next((each for each in self.role.flags if each.replace("_", "-").endswith(f".{field}")), None)
            return ("flags", alone or key or name)
        return ("flags", key or name, field) if field is not None else ("flags", key or name)

    def finding(
        self, code: str, message: str, name: str, help_: str, *others: str, field: str | None = None
    ) -> Diagnostic:
        """A finding at the flag `name`; each of `others` gets a label."""
        labels = [
            Label(self.role.place("flags", key, part="key"), "this") for key in map(self.key, others) if key is not None
        ]
        return Diagnostic(
            code,
            message,
            self.role.place(*self.at(name, field), part="key"),
            Severity.WARNING if drift(self.role, self.catalogue) else Severity.ERROR,
            labels=tuple(labels),
            notes=drift(self.role, self.catalogue),
            help=help_,
        )


def marked(finding: Diagnostic, label: Label) -> Diagnostic:
    """The finding with one label more."""
    return replace(finding, labels=(*finding.labels, label))


def said(case: Case, program: str) -> Iterator[Said]:
    """The roles that run `program` and have flags."""
    for role in case.job.roles:
        if role.manifest.program.name == program and role.catalogue is not None and role.flags:
            yield Said(role, role.catalogue)


def code(rule: object) -> str:
    """The code of the findings of a rule: its name, with dashes."""
    return getattr(rule, "__name__", "").replace("_", "-")


def since(catalogue: Catalogue, *version: int) -> bool:
    """Whether the catalogue's version is that one or newer."""
    numbers = [int(part) for part in catalogue.version.split(".")[: len(version)] if part.isdecimal()]
    return tuple(numbers) >= version
