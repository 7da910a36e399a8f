"""Findings about what several roles have in common: one a fact, however many roles it is one of."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import wraps

from launcher.model.facts import Facts, Question
from launcher.model.job import Job
from launcher.plan.step import Plan
from launcher.run.record import record
from launcher.text.diagnostic import Diagnostic, Label, Place

ROLES = "{roles}"
"""In the message of what is `Said`: the roles it is said of."""


@record
class Said:
    """What the answer to a question means for one role, with the place in that role."""

    about: Question
    role: str
    finding: Diagnostic


Finding = Diagnostic | Question
_Rule = Callable[[Job, Plan, Facts], Iterator[Said | Finding]]
_Audit = Callable[[Job, Plan, Facts], Iterator[Finding]]


def once(rule: _Rule) -> _Audit:
    """The audit that says once what the rule says of several roles alike."""

    @wraps(rule)
    def audit(job: Job, plan: Plan, facts: Facts) -> Iterator[Finding]:
        said: dict[tuple[Question, Diagnostic], dict[str, Place | None]] = {}
        for each in rule(job, plan, facts):
            if isinstance(each, Said):
                fact = (each.about, replace(each.finding, place=None))
                said.setdefault(fact, {}).setdefault(each.role, each.finding.place)
            else:
                yield each
        yield from (_together(finding, places) for (_, finding), places in said.items())

    return audit


def _together(finding: Diagnostic, places: Mapping[str, Place | None]) -> Diagnostic:
    first = next(iter(places.values()))
    others: dict[Place, str] = {}
    for name, place in places.items():
        if place is not None and place != first:
            others.setdefault(place, name)
    labels = tuple(Label(place, f"role `{name}`") for place, name in others.items())
    notes = finding.notes
    if ROLES not in finding.message and len(places) > 1:
        notes = (*notes, f"wanted by {_named(places)}")
    message = finding.message.replace(ROLES, _named(places))
    return replace(finding, message=message, place=first, labels=(*finding.labels, *labels), notes=notes)


def _named(roles: Collection[str]) -> str:
    *most, last = [f"`{name}`" for name in roles]
    return f"roles {', '.join(most)} and {last}" if most else f"role {last}"
