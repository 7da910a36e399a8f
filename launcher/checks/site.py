"""Audits of a cluster with Slurm: what the job asks for, against what is there."""

from collections.abc import Generator, Iterator

from launcher.images.reference import number
from launcher.model.facts import Accounts, Answer, Facts, Mpis, Options, Partition, Partitions, Question
from launcher.model.job import Job
from launcher.model.survey import gpus
from launcher.model.timelimit import spelt
from launcher.plan.step import Batch, Plan
from launcher.text.diagnostic import Diagnostic, Place, Severity
from launcher.text.suggest import nearest

Finding = Diagnostic | Question

_CONTAINER = Options("container-")
SINCE = {
    "container-mount-home": (0, 3),
    "container-remap-root": (0, 4),
    "container-save": (0, 7),
    "container-entrypoint": (0, 8),
    "container-writable": (0, 11),
    "container-env": (0, 15),
    "container-entrypoint-log": (0, 20),
    "container-unshare": (0, 24),
}
"""Options of pyxis that came later than the others → since when (its args.c, 0.24)."""

_NEEDED = ("container-mount-home", "container-env", "container-entrypoint-log")


def partition_unusable(job: Job, plan: Plan, facts: Facts) -> Iterator[Finding]:
    """The partition does not exist, is down, or is too small

    `[slurm] partition` names one, else Slurm takes its default. `sinfo` lists them. A job that asks for more nodes
    than the partition has would wait for ever.
    """
    batch = plan.batch
    answer = yield from _partitions(batch, facts)
    if batch is None or answer is None:
        return
    found = _chosen(batch, answer)
    place = _place(job, "partition")
    names = [each.name for each in answer.partitions]
    if found is None and batch.partition is not None and "," not in batch.partition:
        like = nearest(batch.partition, names)
        advice = f"did you mean `{like}`?" if like else f"there are {', '.join(f'`{name}`' for name in names)}"
        yield _finding("partition-unusable", f"there is no partition `{batch.partition}`", place, advice)
    elif found is not None and not found.up:
        yield _finding("partition-unusable", f"partition `{found.name}` is down", place, "`sinfo -R` says why")
    elif found is not None and found.nodes < plan.nodes:
        message = f"partition `{found.name}` has {found.nodes} nodes, the plan wants {plan.nodes}"
        yield _finding("partition-unusable", message, place, "lower `replicas`, or name another partition")


def time_over_limit(job: Job, plan: Plan, facts: Facts) -> Iterator[Finding]:
    """The job asks for more time than the partition allows

    Slurm accepts such a job, and it waits for ever (reason PartitionTimeLimit); `sbatch --test-only` does not tell.
    """
    batch = plan.batch
    answer = yield from _partitions(batch, facts)
    found = None if batch is None or answer is None else _chosen(batch, answer)
    if batch is None or batch.time is None or found is None or found.limit is None or batch.time <= found.limit:
        return
    message = f"partition `{found.name}` allows {spelt(found.limit)}, the job asks for {spelt(batch.time)}"
    yield _finding("time-over-limit", message, _place(job, "time"), "lower `[slurm] time`, or name another partition")


def gpus_absent(job: Job, plan: Plan, facts: Facts) -> Iterator[Finding]:
    """The nodes of the partition have fewer GPUs than the job asks for

    `sinfo -o '%P %G'` shows what nodes have, as Slurm counts it. `[node] gpus` of the cluster file says what is
    planned with, `[node] gpu_request` how Slurm is asked.
    """
    batch = plan.batch
    answer = yield from _partitions(batch, facts)
    found = None if batch is None or answer is None else _chosen(batch, answer)
    wanted = max((each.gpus for each in batch.components), default=0) if batch is not None else 0
    if found is None or not wanted:
        return
    have = gpus(found.gres)
    if have < wanted:
        message = f"nodes of partition `{found.name}` have {have} GPUs, the job asks for {wanted} of each"
        advice = 'correct `[node] gpus`; `gpu_request = "none"` where nodes come with GPUs that Slurm does not count'
        yield _finding("gpus-absent", message, job.cluster_origins.place(("node", "gpus")), advice)


def pyxis_absent(job: Job, plan: Plan, facts: Facts) -> Iterator[Finding]:
    """Slurm does not know pyxis here, or not the one that the cluster file names

    The plugin brings the `--container-*` options of `srun`. Without it every step would fail, or run outside of any
    container. Its version is told by the options that came with it.
    """
    if plan.batch is None or job.cluster.runtime != "pyxis":
        return
    answer = facts.get(_CONTAINER)
    if answer is None:
        yield _CONTAINER
        return
    if "container-image" not in answer.words:
        message = "`srun` has no option `--container-image`: pyxis is not set up here"
        place = job.cluster_origins.place(("runtime",))
        yield _finding("pyxis-absent", message, place, "`srun --help | grep container` shows it; is this a login node?")
        return
    said = number(job.cluster.versions.pyxis or "")
    for option, since in ((option, SINCE[option]) for option in _NEEDED):
        if said and said >= since and option not in answer.words:
            message = f"`srun` has no option `--{option}`, so pyxis is older than {'.'.join(map(str, since))}"
            place = job.cluster_origins.place(("versions", "pyxis"))
            yield _finding("pyxis-absent", message, place, "correct `versions.pyxis` of the cluster file")


def mpi_unknown(job: Job, plan: Plan, facts: Facts) -> Iterator[Finding]:
    """Slurm does not know the type of MPI

    Steps whose tasks are ranks of one program get `--mpi`, as `[slurm] mpi` of the cluster says; `srun --mpi=list`
    lists what there is. `pmix` needs the PMIx library on every node.
    """
    if plan.batch is None or not any(step.mpi for step in plan.steps):
        return
    answer, wanted = facts.get(Mpis()), job.cluster.slurm.mpi
    if answer is None:
        yield Mpis()
    elif answer.yes and wanted not in answer.words:
        advice = f"there are {', '.join(f'`{each}`' for each in answer.words)}"
        place = job.cluster_origins.place(("slurm", "mpi"))
        yield _finding("mpi-unknown", f"Slurm has no MPI of type `{wanted}`", place, advice)


def account_unknown(job: Job, plan: Plan, facts: Facts) -> Iterator[Finding]:
    """The account is none that this user may charge

    `sacctmgr show assoc user=$USER` lists them. This is a warning: some sites have accounts that are not listed, and
    Slurm has the last word.
    """
    if plan.batch is None or plan.batch.account is None:
        return
    answer, wanted = facts.get(Accounts()), plan.batch.account
    if answer is None:
        yield Accounts()
    elif answer.yes and wanted.lower() not in map(str.lower, answer.words):
        like = nearest(wanted, answer.words)
        advice = f"did you mean `{like}`?" if like else f"yours are {', '.join(f'`{each}`' for each in answer.words)}"
        message = f"you have no account `{wanted}`"
        yield Diagnostic("account-unknown", message, _place(job, "account"), Severity.WARNING, help=advice)


def _partitions(batch: Batch | None, facts: Facts) -> Generator[Finding, None, Answer | None]:
    """Asks once; returns the answer where Slurm gave one."""
    if batch is None:
        return None
    answer = facts.get(Partitions())
    if answer is None:
        yield Partitions()
    return answer if answer is not None and answer.yes else None


def _chosen(batch: Batch, answer: Answer) -> Partition | None:
    """The partition of the job; None where none is named and none is the default, or several are named."""
    wanted = batch.partition
    return next((each for each in answer.partitions if (each.default if wanted is None else each.name == wanted)), None)


def _place(job: Job, key: str) -> Place | None:
    path = ("slurm", key)
    for origins in (job.origins, job.cluster_origins):
        if path in origins.chains:
            return origins.place(path)
    return None


def _finding(code: str, message: str, place: Place | None, advice: str) -> Diagnostic:
    return Diagnostic(code, message, place, help=advice, exit=5)
