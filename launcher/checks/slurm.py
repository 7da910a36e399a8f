"""What a job asks Slurm for: time, nodes near each other, CPUs; and what of the shell goes along."""

import re
from collections.abc import Iterator

from launcher.checks.case import Case
from launcher.images.reference import number
from launcher.model.duration import seconds
from launcher.model.timelimit import seconds as limit
from launcher.model.timelimit import spelt
from launcher.plan.batch import blocks
from launcher.plan.starter import early
from launcher.text.diagnostic import Diagnostic, Label, Place, Severity

_SEGMENT_SINCE = (24, 5)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?")


def containers_without_slurm(case: Case) -> Iterator[Diagnostic]:
    """Containers need Slurm

    pyxis is a plugin of Slurm, and Apptainer is started by its steps. A cluster with `scheduler = "local"` starts
    plain processes on this machine.
    """
    cluster = case.job.cluster
    if cluster.scheduler == "local" and cluster.runtime != "none":
        yield Diagnostic(
            "containers-without-slurm",
            f"`{cluster.runtime}` starts nothing on this machine: the cluster has no Slurm",
            case.job.cluster_origins.place(("runtime",)),
            help='take `scheduler = "local"` out, or write `runtime = "none"`',
        )


def time_too_short(case: Case) -> Iterator[Diagnostic]:
    """The job ends before the deployment must be ready

    `[slurm] time` is the limit of the whole job, `[ready] timeout` the budget of its start. A job that is over
    while engines still load has used its nodes for nothing. This is a warning: the start may be quicker.
    """
    said, place = _time(case)
    budget = seconds(case.job.recipe.ready.timeout)
    if said is None or case.job.cluster.scheduler == "local" or limit(said) > budget:
        return
    other = case.job.origins.chains.get(("ready", "timeout"))
    label = (Label(case.job.origins.place(("ready", "timeout")), "ready by then"),) if other else ()
    yield Diagnostic(
        "time-too-short",
        f"the time limit is {spelt(limit(said))}, and the deployment may take {spelt(int(budget))} to be ready",
        place,
        Severity.WARNING,
        labels=label,
        help="raise `[slurm] time`, or lower `[ready] timeout`",
    )


def segment_impossible(case: Case) -> Iterator[Diagnostic]:
    """Nodes cannot be kept in one NVLink domain like this

    `[slurm] segment` keeps nodes of a job together: so many at a time, each role's (`"role"`), or all (`"job"`).
    The site must take `--segment` (`[topology] segment`, Slurm 24.05 with topology/block), no segment can be
    larger than a domain (`domain_nodes`), and the job's nodes must be a multiple of it.
    """
    wanted = case.job.recipe.slurm.segment
    if wanted is None or case.job.cluster.scheduler == "local" or case.outline.faults:
        return
    place = case.job.origins.place(("slurm", "segment"))
    fault = _unsupported(case) or next(
        filter(None, (_misfit(case, *block) for block in blocks(case.job, case.outline))), None
    )
    if fault is not None:
        message, advice = fault
        yield Diagnostic("segment-impossible", message, place, help=advice)


def cpus_unknown(case: Case) -> Iterator[Diagnostic]:
    """Slurm would give the job one CPU a node

    Where jobs do not have whole nodes, a job gets the CPUs that it asks for, else one. How many go with its GPUs
    follows from `[node] cpus` and `gpus`. This is a warning: on sites that do not bind steps to CPUs (TaskPlugin)
    nobody holds a job to them.
    """
    cluster = case.job.cluster
    if cluster.scheduler == "slurm" and not cluster.slurm.exclusive and cluster.node.cpus is None:
        yield Diagnostic(
            "cpus-unknown",
            "the job asks for no CPUs: the cluster file does not say how many a node has",
            case.job.cluster_origins.place(("slurm", "exclusive")),
            Severity.WARNING,
            help="say `[node] cpus` (`sinfo --format=%c`), or `[slurm] exclusive = true`",
        )


def inherited_variable(case: Case) -> Iterator[Diagnostic]:
    """A variable of the shell cannot go along

    `inherit` of a cluster names variables of the submitting shell that all steps get, beside PATH, HOME, USER,
    LOGNAME, SHELL and SLURM_CONF; `LC_*` is all that begin so. What Slurm, pyxis or enroot read themselves would
    change the steps: an exported `SLURM_NTASKS` or `PYXIS_CONTAINER_IMAGE` is not to decide what runs.
    """
    for index, name in enumerate(case.job.cluster.inherit):
        place = case.job.cluster_origins.place(("inherit", index))
        if not _NAME.fullmatch(name):
            yield Diagnostic(
                "inherited-variable", f"`{name}` is not the name of a variable", place, help="letters, digits and `_`"
            )
        elif early(name) and not name.startswith(_TUNING):
            yield Diagnostic(
                "inherited-variable",
                f"`{name}` would be read by what starts the steps, not only by the roles",
                place,
                help="take it out; a role can have it in `env`, where it is set inside its container alone",
            )


_TUNING = ("APPTAINER_DOCKER_", "APPTAINER_TMPDIR", "SINGULARITY_DOCKER_", "ENROOT_CONFIG_PATH", "TMPDIR")
"""What a user may want to tell enroot or Apptainer: credentials, and where there is room."""


def _time(case: Case) -> tuple[str | None, Place]:
    """The time limit, and where it was said."""
    if case.job.recipe.slurm.time is not None:
        return case.job.recipe.slurm.time, case.job.origins.place(("slurm", "time"))
    return case.job.cluster.slurm.time, case.job.cluster_origins.place(("slurm", "time"))


def _unsupported(case: Case) -> tuple[str, str] | None:
    cluster = case.job.cluster
    version = number(cluster.versions.slurm or "")
    if not cluster.topology.segment:
        return f"`{cluster.name}` does not say that it takes `--segment`", "say `[topology] segment = true` if it does"
    if version and version < _SEGMENT_SINCE:
        return f"Slurm {cluster.versions.slurm} has no `--segment` (24.05 and later do)", "take `segment` out"
    return None


def _misfit(case: Case, nodes: int, segment: int | None) -> tuple[str, str] | None:
    domain = case.job.cluster.topology.domain_nodes
    if segment is None:
        return None
    if domain is not None and segment > domain:
        return f"{segment} nodes cannot be in one NVLink domain of {domain}", "ask for a smaller segment, or fewer GPUs"
    if nodes % segment:
        return f"{nodes} nodes are no multiple of {segment}", f"choose a segment that divides {nodes}"
    return None
