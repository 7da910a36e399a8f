"""Tags that move: `main`, `pr-7`. What each names is an index of images that are in the registry under their keys."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from launcher.execute.images.failure import Failure
from launcher.execute.images.push import Push
from launcher.execute.images.registry import Registry
from launcher.execute.interrupt import abreast
from launcher.execute.told import Told
from launcher.images import assembly, building
from launcher.images.matrix import Job
from launcher.images.reference import Reference

_ABREAST = 8


def reference(job: Job, place: str) -> Reference:
    """Where the image of a job is, or will be, below `place`. Raises ValueError with a phrase."""
    return building.goals(place, job.image, [job.tag])[0]


def missing(registry: Registry, jobs: Sequence[Job], place: str, told: Told) -> list[Job]:
    """The jobs whose image is not in the registry. Raises Failure where that cannot be found out, and ValueError."""
    goals = [reference(job, place) for job in jobs]

    def there(goal: Reference) -> Failure | None:
        try:
            registry.digest(goal)
        except Failure as failure:
            # Registries say the same of what is private and of what nobody has pushed yet; pushing tells.
            if failure.kind in ("absent", "denied"):
                return failure
            raise
        return None

    found = list(abreast(there, goals, _ABREAST))
    for message in dict.fromkeys(each.message for each in found if each is not None and each.kind == "denied"):
        told(message)
    return [job for job, failure in zip(jobs, found, strict=True) if failure is not None]


def publish(
    registry: Registry, push: Push, jobs: Iterable[Job], place: str, channel: str
) -> tuple[list[Reference], list[Failure]]:
    """The references that the channel's tag has now, each with its digest; nothing is written where one is missing, and
    all that is missing is told.
    """
    found: dict[str, list[tuple[bytes, str]]] = {}
    failures = []
    for job in jobs:
        goal = reference(job, place)
        try:
            remote = registry.image(goal, job.arch)
            found.setdefault(job.image, []).append((registry.documents(goal, remote)[0], job.arch))
        except Failure as failure:
            failures.append(failure)
    return ([], failures) if failures else (_named(push, found, place, channel), [])


def _named(push: Push, found: Mapping[str, Sequence[tuple[bytes, str]]], place: str, channel: str) -> list[Reference]:
    goals = {image: building.goals(place, image, [channel])[0] for image in found}
    return [
        replace(goal, digest=push.document(goal, assembly.index(found[image]), channel))
        for image, goal in goals.items()
    ]
