"""A finding: what is wrong, where, and what to do about it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from launcher.run.record import record
from launcher.text.document import Document, KeyPath, Span


class Severity(StrEnum):
    """How much a finding weighs: an error refuses, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@record
class Place:
    """A key path of a document (`part` picks the key or the value), or `length` characters from `offset`.

    Offsets are for syntax errors; everything else names a key path. Line and column are looked up when
    the diagnostic is drawn, so that models carry no positions. Neither path nor offset: the whole document.
    """

    document: Document
    path: KeyPath = ()
    part: Literal["key", "value"] = "value"
    offset: int | None = None
    length: int = 1

    @property
    def whole(self) -> bool:
        """Whether the place is the document as a whole, no line of it (nothing of the path is written in it)."""
        return self.offset is None and self.span() == Span(0, 0)

    def span(self) -> Span:
        """Characters of the place in the document's text, half open; at the end of the text it is empty."""
        if self.offset is None:
            return self.document.span(self.path, self.part)
        size = len(self.document.text)
        start = min(self.offset, size)
        return Span(start, min(start + self.length, size))


@record
class Label:
    """A further place that explains the finding, in the same document or another."""

    place: Place
    message: str


@record
class Diagnostic:
    """One finding. `code` is the name of the check (`launch explain CODE`).

    `message` is a lower-case phrase that stands alone; `note` says why, `help` what to do.
    `place` is None only for what concerns no document (an absent file, the command line). `rename` is what the key
    at `place` should be called, where there is no doubt.
    """

    code: str
    message: str
    place: Place | None
    severity: Severity = Severity.ERROR
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None
    exit: int = 3
    rename: str | None = None


@dataclass(eq=False)
class Refused(Exception):
    """Raised by a stage that cannot go on; carries all it found, never just the first."""

    diagnostics: list[Diagnostic] = field(default_factory=list)


def refusal(code: str, message: str, advice: str | None = None, status: int = 2) -> Refused:
    """A refusal that has no place in a file, as an exception to raise."""
    return Refused([Diagnostic(code, message, None, help=advice, exit=status)])


def ordered(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """By document, position, severity (errors first) and code; what has no place comes first."""
    return sorted(findings, key=_order)


def _order(finding: Diagnostic) -> tuple[str, int, int, str, str]:
    place = finding.place
    document = place.document.name if place else ""
    start = place.span().start if place else 0
    return document, start, list(Severity).index(finding.severity), finding.code, finding.message


def errors(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Those findings that refuse."""
    return [finding for finding in findings if finding.severity is Severity.ERROR]
