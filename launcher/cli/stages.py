"""From the words of the command line to a checked job: link → check, for every verb that reads a recipe."""

from collections.abc import Sequence
from importlib import import_module

from launcher.checks import check, spoken
from launcher.execute.adapters import load
from launcher.execute.library import Files
from launcher.model.job import Job
from launcher.model.library import Library
from launcher.model.link import Request, Unlinked, link
from launcher.roles.base import Adapters
from launcher.run.record import record
from launcher.text.diagnostic import Diagnostic, Refused, errors


@record
class Checked:
    """A job, the adapters of its roles, and what the checks found: warnings, errors as well."""

    job: Job
    adapters: Adapters
    findings: Sequence[Diagnostic]


def library() -> Files:
    """The files of this machine."""
    return Files()


def checked(request: Request, documents: Library) -> Checked:
    """The job linked and checked. Raises `Refused` where it cannot even be linked."""
    try:
        job = link(documents, request)
    except Unlinked as unlinked:
        more = spoken(unlinked.job) if unlinked.job is not None else []
        raise Refused([*unlinked.diagnostics, *more]) from None
    adapters = load(
        (role.manifest.adapter for role in job.roles),
        {role.manifest.adapter: role.place("manifest") for role in job.roles},
    )
    if request.simulate:
        job, adapters = import_module("launcher.roles.rehearsal").rehearsed(job, adapters)
    return Checked(job, adapters, check(job, adapters))


def accepted(request: Request, documents: Library) -> Checked:
    """As `checked`, but raises `Refused` where a check refuses."""
    result = checked(request, documents)
    if errors(result.findings):
        raise Refused(list(result.findings))
    return result
