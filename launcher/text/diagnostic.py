"""A finding: what is wrong, where, and what to do about it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from launcher.text.document import Document, KeyPath, Span


class Severity(StrEnum):
    """How much a finding weighs: an error refuses, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Place:
    """A key path of a document (`part` picks the key or the value), or an `offset` for syntax errors.

    Line and column are looked up when the diagnostic is drawn, so that models carry no positions.
    """

    document: Document
    path: KeyPath = ()
    part: Literal["key", "value"] = "value"
    offset: int | None = None

    def span(self) -> Span:
        """Characters of the place in the document's text, half open."""
        if self.offset is not None:
            return Span(self.offset, self.offset + 1)
        return self.document.span(self.path, self.part)


@dataclass(frozen=True)
class Label:
    """A further place that explains the finding, in the same document or another."""

    place: Place
    message: str


@dataclass(frozen=True)
class Diagnostic:
    """One finding. `code` is the name of the check (`launch explain CODE`).

    `message` is a lower-case phrase that stands alone; `note` says why, `help` what to do.
    `place` is None only for what concerns no document (an absent file, the command line).
    """

    code: str
    message: str
    place: Place | None
    severity: Severity = Severity.ERROR
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None
    exit: int = 3


@dataclass
class Refused(Exception):
    """Raised by a stage that cannot go on; carries all it found, never just the first."""

    diagnostics: list[Diagnostic] = field(default_factory=list)


def errors(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Those findings that refuse."""
    return [finding for finding in findings if finding.severity is Severity.ERROR]
