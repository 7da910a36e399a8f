"""Findings as every report tells them: sorted, each place looked up."""

from collections.abc import Iterable
from dataclasses import dataclass

from launcher.text.diagnostic import Diagnostic, Place, ordered
from launcher.text.document import KeyPath


@dataclass(frozen=True)
class Region:
    """A place in words people use: lines and columns from 1, the end excluded; columns count characters.

    `path` is empty for syntax errors. `source` is the text of `line`, or None where the place is the
    document as a whole.
    """

    document: str
    line: int
    column: int
    end_line: int
    end_column: int
    path: KeyPath
    source: str | None

    @property
    def file(self) -> bool:
        """Whether the document is a file; words of the command line (`--set`) and `<stdin>` are none."""
        return not self.document.startswith(("-", "<"))


@dataclass(frozen=True)
class Finding:
    """A diagnostic whose places are regions; `labels` are (region, message)."""

    code: str
    severity: str
    message: str
    region: Region | None
    labels: tuple[tuple[Region, str], ...]
    notes: tuple[str, ...]
    help: str | None


def view(diagnostics: Iterable[Diagnostic]) -> list[Finding]:
    """The findings in the order they are told."""
    return [
        Finding(
            found.code,
            found.severity.value,
            found.message,
            region(found.place) if found.place else None,
            tuple((region(label.place), label.message) for label in found.labels),
            found.notes,
            found.help,
        )
        for found in ordered(diagnostics)
    ]


def region(place: Place) -> Region:
    """Where `place` is."""
    span = place.span()
    line, column = place.document.line_column(span.start)
    end_line, end_column = place.document.line_column(span.end)
    source = None if place.whole else place.document.line(line)
    path = place.path if place.offset is None else ()
    return Region(place.document.name, line, column, end_line, end_column, path, source)
