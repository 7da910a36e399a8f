"""Findings as a SARIF 2.1.0 log (https://docs.oasis-open.org/sarif/sarif/v2.1.0/)."""

import re
from collections.abc import Sequence
from typing import Any

from launcher.text.view import Finding, Region

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

UNSAFE = r"[^A-Za-z0-9/._~-]"
"""Characters that a path in a URI has as percent escapes (RFC 3986)."""


def log(findings: Sequence[Finding]) -> dict[str, Any]:
    """The log of one run of `launch check`. Columns are counted in characters; ends are excluded."""
    codes = sorted({finding.code for finding in findings})
    driver = {"name": "launch", "rules": [{"id": code} for code in codes]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, codes.index(finding.code)) for finding in findings],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    text = [finding.message, *finding.notes, *([f"help: {finding.help}"] if finding.help else [])]
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity,
        "message": {"text": "\n".join(text)},
    }
    if finding.region:
        result["locations"] = [_location(finding.region)]
    if finding.labels:
        result["relatedLocations"] = [
            {"id": index, **_location(region), "message": {"text": message}}
            for index, (region, message) in enumerate(finding.labels, 1)
        ]
    return result


def _location(region: Region) -> dict[str, Any]:
    span = {"startLine": region.line, "startColumn": region.column}
    span |= {"endLine": region.end_line, "endColumn": region.end_column}
    if not region.file:
        return {"logicalLocations": [{"fullyQualifiedName": region.document}]}
    artifact = {"uri": re.sub(UNSAFE, _percent, region.document)}
    return {"physicalLocation": {"artifactLocation": artifact, "region": span}}


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found.group().encode(errors="surrogateescape"))
