"""What a role says to its program, by the names its catalogue has for flags."""

from collections.abc import Iterator
from dataclasses import replace

from launcher.checks.case import Case
from launcher.checks.flagnames import engine
from launcher.checks.flags import drift
from launcher.model.catalogue import Catalogue
from launcher.model.given import Given
from launcher.text.advice import written
from launcher.text.diagnostic import Diagnostic, Label, Severity


class Said(Given):
    """What a role gives its program, and findings about it."""

    def finding(
        self, code: str, message: str, name: str, help_: str, *others: str, field: str | None = None
    ) -> Diagnostic:
        """A finding at the flag `name`; each of `others` gets a label."""
        named = (other for other in others if self.key(other) is not None)
        labels = [Label(self.role.place(*self.at(other), part="key"), "this") for other in named]
        place = self.role.place(*self.at(name, field), part="key")
        return Diagnostic(
            code,
            message,
            place,
            Severity.WARNING if drift(self.role, self.catalogue) else Severity.ERROR,
            labels=tuple(labels),
            notes=drift(self.role, self.catalogue),
            help=written(help_, place),
        )


def marked(finding: Diagnostic, label: Label) -> Diagnostic:
    """The finding with one label more."""
    return replace(finding, labels=(*finding.labels, label))


def said(case: Case, program: str) -> Iterator[Said]:
    """The roles that run `program`, or take its flags, and have flags, or what stands for some."""
    for role in case.job.roles:
        name = role.manifest.program.name or ""
        if engine(name) == program and role.catalogue is not None and (role.flags or role.config or role.kv):
            yield Said(role, role.catalogue)


def code(rule: object) -> str:
    """The code of the findings of a rule: its name, with dashes."""
    return getattr(rule, "__name__", "").replace("_", "-")


def since(catalogue: Catalogue, *version: int) -> bool:
    """Whether the catalogue's version is that one or newer."""
    numbers = [int(part) for part in catalogue.version.split(".")[: len(version)] if part.isdecimal()]
    return tuple(numbers) >= version
