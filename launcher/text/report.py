"""Findings as text: for people, for editors, for programs, for continuous integration.

All formats tell the same view in the same order. None ends in a newline; all but `json` and `sarif` are
empty where there are no findings.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from json import dumps
from typing import Any

from launcher.text.diagnostic import Diagnostic, Severity
from launcher.text.sarif import log
from launcher.text.snippet import clean, underlined
from launcher.text.view import Finding, Region, view

SCHEMA = 1

STYLES: Mapping[str, str] = {"error": "1;31", "warning": "1;33", "frame": "1;34", "help": "1;36", "message": "1"}
"""What is coloured → parameters of the terminal's SGR sequence (ECMA-48)."""

Paint = Callable[[str, str], str]


def full(diagnostics: Sequence[Diagnostic], color: bool = False) -> str:
    """For people: each finding with the lines it is about, a blank line between two."""
    paint = _coloured if color else _plain
    return "\n\n".join("\n".join(_block(finding, paint)) for finding in view(diagnostics))


def concise(diagnostics: Sequence[Diagnostic]) -> str:
    """One line a finding, as editors and grep read them: `file:line:column: error[code]: message`."""
    return "\n".join(_line(finding) for finding in view(diagnostics))


def json(diagnostics: Sequence[Diagnostic]) -> str:
    """One JSON document: `{"schema": 1, "diagnostics": […]}`; in ASCII, so that any terminal takes it."""
    data = {"schema": SCHEMA, "diagnostics": [_data(finding) for finding in view(diagnostics)]}
    return dumps(data, indent=2)


def github(diagnostics: Sequence[Diagnostic]) -> str:
    """Workflow commands of GitHub Actions, which annotate the lines of a pull request."""
    return "\n".join(_command(finding) for finding in view(diagnostics))


def sarif(diagnostics: Sequence[Diagnostic]) -> str:
    """A log of the Static Analysis Results Interchange Format 2.1.0 (OASIS)."""
    return dumps(log(view(diagnostics)), indent=2)


FORMATS: Mapping[str, Callable[[Sequence[Diagnostic]], str]] = {
    "full": full,
    "concise": concise,
    "json": json,
    "github": github,
    "sarif": sarif,
}
"""Values of `--format`."""


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """`2 errors, 1 warning`; `no findings` for none."""
    counts = Counter(found.severity for found in diagnostics)
    words = [f"{counts[kind]} {kind}{'s' * (counts[kind] > 1)}" for kind in Severity if counts[kind]]
    return ", ".join(words) or "no findings"


def _plain(_: str, text: str) -> str:
    return text


def _coloured(style: str, text: str) -> str:
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if text else ""


def _block(finding: Finding, paint: Paint) -> list[str]:
    regions = [finding.region] if finding.region else []
    regions += [region for region, _ in finding.labels]
    gutter = max((len(str(region.line)) for region in regions if region.source is not None), default=1)
    head = paint(finding.severity, f"{finding.severity}[{finding.code}]")
    lines = [f"{head}{paint('message', ': ' + _indented(finding.message, 0))}"]
    if finding.region:
        lines.append(_arrow(finding.region, gutter, "-->", paint))
        lines += _marked(finding.region, gutter, paint, finding.severity)
    for region, message in finding.labels:
        lines.append(_arrow(region, gutter, ":::", paint))
        lines += _marked(region, gutter, paint, "frame", message)
    for note in finding.notes:
        lines.append(f"{' ' * gutter} {paint('frame', '=')} note: {_indented(note, gutter + 9)}")
    if finding.help:
        lines.append(f"{paint('help', 'help')}: {_indented(finding.help, 6)}")
    return lines


def _arrow(region: Region, gutter: int, arrow: str, paint: Paint) -> str:
    where = _flat(region.document)
    if region.source is not None:
        where += f":{region.line}:{region.column}"
    return f"{' ' * max(1, gutter - 1)}{paint('frame', arrow)} {where}"


def _marked(region: Region, gutter: int, paint: Paint, style: str, message: str = "") -> list[str]:
    """The line of a region and its underline, with a label's message behind; the message alone without a line."""
    if region.source is None:
        return [f"{' ' * gutter} {paint('frame', '=')} {_indented(message, gutter + 3)}"] if message else []
    end = region.end_column - 1 if region.end_line == region.line else len(region.source.rstrip())
    shown, indent, length = underlined(region.source, region.column - 1, end)
    mark = ("-" if style == "frame" else "^") * length + (f" {_flat(message)}" if message else "")
    return [
        f"{' ' * gutter} {paint('frame', '|')}",
        f"{paint('frame', f'{region.line:>{gutter}} |')} {shown}".rstrip(),
        f"{' ' * gutter} {paint('frame', '|')} {' ' * indent}{paint(style, mark)}",
    ]


def _line(finding: Finding) -> str:
    region = finding.region
    where = f"{_flat(region.document)}:{region.line}:{region.column}: " if region else ""
    return f"{where}{finding.severity}[{finding.code}]: {_flat(finding.message)}"


def _data(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "message": finding.message,
        "place": _place(finding.region) if finding.region else None,
        "labels": [{"message": message, "place": _place(region)} for region, message in finding.labels],
        "notes": list(finding.notes),
        "help": finding.help,
    }


def _place(region: Region) -> dict[str, Any]:
    return {
        "document": region.document,
        "line": region.line,
        "column": region.column,
        "end_line": region.end_line,
        "end_column": region.end_column,
        "path": list(region.path),
    }


def _command(finding: Finding) -> str:
    region, where = finding.region, ""
    values: dict[str, Any] = {}
    if region and region.file:
        values = {"file": region.document, "line": region.line, "endLine": region.end_line}
        # GitHub takes columns only of regions within one line.
        if region.line == region.end_line:
            values |= {"col": region.column, "endColumn": region.end_column}
    elif region:
        where = f"{region.document}:{region.line}:{region.column}: "
    values["title"] = finding.code
    properties = ",".join(f"{key}={_escaped(str(value), ':,')}" for key, value in values.items())
    text = "\n".join([where + finding.message, *finding.notes, *([f"help: {finding.help}"] if finding.help else [])])
    return f"::{finding.severity} {properties}::{_escaped(text)}"


def _escaped(text: str, more: str = "") -> str:
    """`text` as a workflow command has it: `%`, line ends and `more` as percent escapes."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return clean(text)


def _flat(text: str) -> str:
    return clean(text.replace("\n", "␊").replace("\t", " "))


def _indented(text: str, columns: int) -> str:
    return clean(text).replace("\n", "\n" + " " * columns)
