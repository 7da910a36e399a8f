"""Audits of mounts: what is to be mounted is there."""

from collections.abc import Iterator

from launcher.checks.images import asking
from launcher.model.facts import Facts, Present, Question
from launcher.model.job import Job
from launcher.plan.step import Plan
from launcher.text.diagnostic import Diagnostic, Place


def mount_absent(job: Job, plan: Plan, facts: Facts) -> Iterator[Diagnostic | Question]:
    """There is nothing where a mount has its source

    A container whose mount has no source does not start. This machine is asked first; what it does not see may be
    on the compute nodes alone, so one of them is asked by a step of a second. Where none is free, the job itself
    looks before it starts anything.
    """
    if plan.batch is None or job.cluster.runtime == "none":
        return
    for source, place in _sources(job, plan).items():
        here = Present(source)
        answer = facts.get(here)
        if answer is None:
            yield here
        elif not answer.yes:
            node = Present(source, asking(plan))
            found = facts.get(node)
            if found is None:
                yield node
            elif not found.yes:
                advice = "correct the path, or make it where the nodes see it"
                yield Diagnostic("mount-absent", f"the source `{source}` {found.text}", place, help=advice)


def _sources(job: Job, plan: Plan) -> dict[str, Place]:
    """Source → where it is said first; words of pyxis are none."""
    found: dict[str, Place] = {}
    for role in job.roles:
        for index, mount in enumerate(role.mounts):
            if mount.source.startswith("/"):
                found.setdefault(mount.source, role.place("mounts", index, "source"))
    return found | dict.fromkeys(_model(job, plan) - found.keys(), job.origins.place(("model", "path")))


def _model(job: Job, plan: Plan) -> set[str]:
    """The model's folder where steps mount it, unless `model-absent` asks for it."""
    said = job.recipe.model.path
    alias = None if said is None else job.cluster.models.get(said)
    if alias is None or (alias.where == "compute" and not job.rehearsed):
        return set()
    return {alias.path} & {mount.source for step in plan.steps for mount in step.mounts}
