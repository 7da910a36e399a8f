"""Audits of the lock: what was locked of the images, against what registries and files have now."""

from collections.abc import Iterator

from launcher.checks.images import uses
from launcher.checks.shared import ROLES, Finding, Said, once
from launcher.images.pin import moved
from launcher.model.facts import Facts
from launcher.model.job import Job
from launcher.plan.step import Plan
from launcher.text.advice import typed
from launcher.text.diagnostic import Diagnostic, Severity


@once
def image_moved(job: Job, plan: Plan, facts: Facts) -> Iterator[Said | Finding]:
    """An image is another than the one that was locked

    The tag names something else now, or the file was written anew. `launch up --update-lock` takes what there is now;
    `allow = ["image-moved"]` goes on with what was locked, where the runtime takes a digest (Apptainer; enroot since
    4.0, with `versions.enroot` in the cluster file). `launch images diff` shows what changed.
    """
    for use in uses(job, plan, facts):
        was = use.role.locked
        if was is None or use.image is None:
            continue
        phrase = moved(was, use.image)
        if phrase is not None:
            message = f"the image of {ROLES} {phrase}"
            differences = typed("images diff", job.option, job.lock_option)
            advice = f"{differences} shows what changed; `--update-lock` of `launch up` takes it"
            finding = Diagnostic("image-moved", message, use.place, help=advice, exit=4)
            yield Said(use.question, use.role.name, finding)


def image_unlocked(job: Job, plan: Plan, facts: Facts) -> Iterator[Finding]:
    """No lock says what the images of the run are

    Tags move. `launch images lock` writes `launch.lock` beside the recipe: the digest of each image, and what was
    found in it. Runs of the same recipe then get the same images, or are refused. This is a warning.
    """
    bare = {use.role.image or use.role.name: use for use in uses(job, plan, facts) if use.role.locked is None}
    if not bare:
        return
    names = ", ".join(f"`{name}`" for name in bare)
    advice = typed("images lock", job.option, job.lock_option)
    place = next(iter(bare.values())).place
    yield Diagnostic("image-unlocked", f"not locked: {names}", place, Severity.WARNING, help=advice, exit=4)
