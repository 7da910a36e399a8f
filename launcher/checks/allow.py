"""`allow`: findings a recipe has decided to live with."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from launcher.checks.case import Case
from launcher.text.diagnostic import Diagnostic, Severity


def allowed(findings: Iterable[Diagnostic], allow: Iterable[str]) -> Iterator[Diagnostic]:
    """The findings, those whose code `allow` lists as warnings that say so."""
    codes = frozenset(allow)
    for finding in findings:
        if finding.severity is Severity.ERROR and finding.code in codes:
            note = f"it would refuse, but the recipe lists `{finding.code}` in `allow`"
            yield replace(finding, severity=Severity.WARNING, notes=(*finding.notes, note))
        else:
            yield finding


def unknown_allowed(case: Case, codes: Mapping[str, bool]) -> Iterator[Diagnostic]:
    """`allow` lists what it cannot allow

    `allow` turns errors of the codes it lists into warnings. A code that no finding has allows nothing, and
    some findings cannot be allowed: what cannot be placed or read has no plan. This is a warning; the
    finding that was meant still refuses.

        allow = ["secret-in-files"]         # did you mean `secret-in-file`?
    """
    for index, code in enumerate(case.job.recipe.allow):
        if codes.get(code):
            continue
        place = case.job.origins.place(("allow", index))
        if code in codes:
            message, advice = f"`{code}` cannot be allowed", f"`launch explain {code}` says what to do about it"
        else:
            near = case.suggestions.nearest(code, codes)
            message = f"no finding of this recipe could be `{code}`"
            advice = f"did you mean `{near}`?" if near else "`launch explain` lists all"
        yield Diagnostic("unknown-allowed", message, place, Severity.WARNING, help=advice)
