"""Findings as every report tells them: sorted, each place looked up, no secret of the files in any word."""

from collections.abc import Iterable

from launcher.run.record import record
from launcher.text.diagnostic import Diagnostic, Place, Severity, ordered
from launcher.text.document import KeyPath
from launcher.text.secret import mask

MOST = 1000
"""Findings that one report tells. A text of a megabyte can have fifty thousand, which nobody reads."""

LEFT_OUT = "findings-left-out"
"""Code of what stands for the others."""


@record
class Region:
    """A place in words people use: lines and columns from 1, the end excluded; columns count characters.

    `path` is empty for syntax errors. `source` is the text of `line`, secrets masked, or None where the place is
    the document as a whole.
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
        """Whether the document is a file; words of the command line (`--set`), variables and `<stdin>` are none."""
        return not self.document.startswith(("-", "$", "<"))


@record
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
    """The findings in the order they are told; of more than `MOST` the errors first, and how many are left out."""
    found = ordered(diagnostics)
    left = len(found) - MOST
    if left <= 0:
        return [_finding(each) for each in found]
    chosen = sorted(sorted(range(len(found)), key=lambda index: found[index].severity is not Severity.ERROR)[:MOST])
    help_ = "mend what is told, and look again"
    more = Finding(LEFT_OUT, Severity.WARNING.value, f"{left} more findings are left out", None, (), (), help_)
    return [*(_finding(found[index]) for index in chosen), more]


def _finding(found: Diagnostic) -> Finding:
    return Finding(
        found.code,
        found.severity.value,
        mask(found.message),
        region(found.place) if found.place else None,
        tuple((region(label.place), mask(label.message)) for label in found.labels),
        tuple(map(mask, found.notes)),
        mask(found.help) if found.help else found.help,
    )


def region(place: Place) -> Region:
    """Where `place` is."""
    span = place.span()
    line, column = place.document.line_column(span.start)
    end_line, end_column = place.document.line_column(span.end)
    source = None if place.whole else place.document.shown(line)
    path = place.path if place.offset is None else ()
    return Region(place.document.name, line, column, end_line, end_column, path, source)
