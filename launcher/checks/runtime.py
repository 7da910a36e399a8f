"""Whether images and the site's software go together."""

import re
from collections.abc import Iterator

from launcher.checks.case import Case
from launcher.images.reference import number
from launcher.model.job import Role
from launcher.text.diagnostic import Diagnostic, Label, Severity

_EVAL_SINCE = (1, 1)
_TAG = r"[-_.:]cu(?:da)?-?(\d{2})(?=\d?(?:\D|$))"

DRIVERS = {11: "450.80", 12: "525.60", 13: "580.65"}
"""Major version of CUDA → the oldest driver that runs it without a compatibility package (NVIDIA's table)."""


def apptainer_too_old(case: Case) -> Iterator[Diagnostic]:
    """Apptainer is too old to carry values exactly

    Before 1.1 there is no `--no-eval`: values of variables are read by a shell on their way into the container,
    which expands `$` and runs what stands between back-ticks.
    """
    cluster = case.job.cluster
    version = number(cluster.versions.apptainer or "")
    if cluster.runtime == "apptainer" and version and version < _EVAL_SINCE:
        yield Diagnostic(
            "apptainer-too-old",
            f"Apptainer {cluster.versions.apptainer} has no `--no-eval` (1.1 and later do)",
            case.job.cluster_origins.place(("versions", "apptainer")),
            help="ask the site for a newer one, or correct `[versions] apptainer`",
        )


def driver_too_old(case: Case) -> Iterator[Diagnostic]:
    """The nodes' GPU driver is older than the image's CUDA wants

    CUDA 12 wants driver 525.60, CUDA 13 580.65. An older one ends the program when it first asks for a GPU, unless
    the image brings NVIDIA's compatibility package and the GPUs are of a data centre: so this is a warning. An
    image's CUDA is known by `versions = { cuda = "13.0" }` of its alias, else by a tag like `v0.33.0-cu130`.
    """
    driver = case.job.cluster.node.driver
    if driver is None:
        return
    for role in case.job.roles:
        cuda = _cuda(case, role)
        wanted = DRIVERS.get(cuda) if cuda is not None else None
        if wanted is not None and role.gpus and number(driver) < number(wanted):
            yield Diagnostic(
                "driver-too-old",
                f"the image of role `{role.name}` has CUDA {cuda}, which wants driver {wanted}; nodes have {driver}",
                role.place("reference"),
                Severity.WARNING,
                labels=(Label(case.job.cluster_origins.place(("node", "driver")), "the driver"),),
                help="choose an image with an older CUDA, or nodes with a newer driver",
            )


def _cuda(case: Case, role: Role) -> int | None:
    """The major version of CUDA in the role's image, where the alias or its tag tells."""
    image = case.job.cluster.images.get(role.image or "")
    said = number(image.versions.get("cuda", "")) if image else ()
    if said:
        return said[0]
    found = re.search(_TAG, (role.reference or "").rpartition("/")[2])
    return int(found[1]) if found else None
