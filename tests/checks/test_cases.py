"""Every finding: a page, a case that has it and one that has not, with every word that is printed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from launcher.checks import AUDITED, CHECKS, Case, check
from launcher.checks.audit import AUDITS
from launcher.checks.pages import pages
from launcher.checks.placement import PLANNED
from launcher.execute.adapters import known, load
from launcher.model.findings import EXPLANATIONS
from launcher.plan.plan import plan
from launcher.render.script import render
from launcher.roles.rehearsal import CODES as REHEARSAL
from launcher.text.diagnostic import Refused, errors
from launcher.text.parse import CODES
from tests.checks import casefile

CASES = Path(__file__).parent / "cases"
FILES = sorted(CASES.glob("*.txt"))
ADAPTERS = load(known())
PAGES = pages(ADAPTERS)
FOUND = {
    *CHECKS,
    *EXPLANATIONS,
    *CODES,
    *REHEARSAL,
    "unknown-allowed",
    *(code for each in ADAPTERS.values() for code in each.codes),
}
ELSEWHERE = {"not-set", *REHEARSAL}
"""What `launch plan --explain` says, which checks nothing, and what only `--simulate` finds."""


def test_every_code_has_cases() -> None:
    assert {path.stem for path in FILES} == FOUND - ELSEWHERE


@pytest.mark.parametrize("code", sorted(PAGES))
def test_every_code_has_a_page(code: str) -> None:
    summary, *body = PAGES[code].split("\n")
    assert summary and not summary.endswith((".", ",")), summary
    assert summary[0] == summary[0].upper()
    assert len(summary) <= 80
    assert body[:1] == [""] and len(" ".join(body).split()) >= 8, "a page says why, and what to do"


def test_pages_are_of_findings_alone() -> None:
    assert set(PAGES) == FOUND | set(AUDITS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_findings_are_told_word_for_word(path: Path, tmp_path: Path, golden: Callable[[Path, str], None]) -> None:
    cases = casefile.read(path.read_text(encoding="utf-8"))
    told, codes = [], []
    for number, case in enumerate(cases):
        folder = tmp_path / str(number)
        findings = case.run(folder)
        codes.append({finding.code for finding in findings})
        told.append(replace(case, findings=casefile.drawn(findings, folder)))
    golden(path, casefile.write(told))
    assert any(path.stem in found for found in codes), "no case has the finding"
    assert any(path.stem not in found for found in codes), "no case is without the finding"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rules_keep_to_their_code_and_to_what_can_be_planned(path: Path, tmp_path: Path) -> None:
    """A check yields its own code alone; what has no error is planned and rendered, what has a fault is not."""
    for number, case in enumerate(casefile.read(path.read_text(encoding="utf-8"))):
        try:
            job = case.job(tmp_path / str(number))
        except Refused:
            continue
        looked_at = Case(job, ADAPTERS)
        found = {code: {finding.code for finding in rule(looked_at)} for code, rule in CHECKS.items()}
        assert {code: codes for code, codes in found.items() if not codes <= {code}} == {}
        if not errors(check(job, ADAPTERS)):
            render(plan(job, ADAPTERS), job.cluster)
        elif any(found[code] for code in PLANNED):
            with pytest.raises(Refused):
                plan(job, ADAPTERS)


def test_codes_of_audits_are_known_without_them() -> None:
    assert set(AUDITED) == set(AUDITS)
