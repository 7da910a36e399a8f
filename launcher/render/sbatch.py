"""The words that submit a job, proven on Slurm 22.05: one batch script, whose arguments are what it becomes.

`sbatch` runs in an environment of its own, so that nothing of the shell decides for it, and nothing is said of
`--export`: what it gets is what the job has. `--parsable` prints the job's number alone, `--comment` lets a job be
found whose number was never heard of, `--no-requeue` keeps Slurm from starting a run twice, and TERM comes to the
batch script alone before the time limit, perhaps a minute early.
"""

import math
from collections.abc import Iterator

from launcher.model import timelimit
from launcher.model.cluster import Cluster
from launcher.model.option import queued
from launcher.plan.step import Batch, Component, Plan
from launcher.render.script import stop_budget
from launcher.run.record import record
from launcher.run.script import ref

JOB = "job.sh"
LOG = "batch.log"
SCRIPT = """\
#!/bin/sh
trap '' TERM
exec "$@"
"""
"""The batch script: its arguments are the supervisor's words, so that nothing has to be quoted.

TERM is ignored until the supervisor listens, which then asks what it may have missed: the warning of a short time
limit comes as soon as the job begins, and would end Python without an outcome.
"""

INHERIT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "SLURM_CONF")
"""Variables of the submitting shell that the job gets."""

_MEMORY = ("--mem=", "--mem-per-cpu=", "--mem-per-gpu=")

# The time limit is noticed by Slurm every half minute or so.
_NOTICE = 10


@record
class Submission:
    """`argv` are the words of `sbatch`, with the late references `run` and `id` (the run directory and its name);
    `script` is the text of `RUN/job.sh`, `inherit` the variables of the shell that `sbatch` gets (those that
    children name in `env_from` beside).
    """

    argv: tuple[str, ...]
    script: str
    inherit: tuple[str, ...]


def submission(plan: Plan, cluster: Cluster) -> Submission:
    """How the plan's job is submitted to `cluster`. Raises ValueError for a plan without Slurm."""
    if plan.batch is None:
        raise ValueError(f"{plan.cluster} has no Slurm")
    command = (cluster.python, "-I", f"{ref('run')}/run.pyz", ref("run"))
    argv = ("sbatch", *sbatch(plan, plan.batch, cluster), f"{ref('run')}/{JOB}", *command)
    return Submission(argv, SCRIPT, (*INHERIT, *cluster.inherit))


def sbatch(plan: Plan, batch: Batch, cluster: Cluster) -> Iterator[str]:
    """The options of `sbatch`: those of the job, then those of its components, parted by `:`."""
    yield "--parsable"
    yield f"--job-name={plan.name}"
    yield f"--comment={ref('id')}"
    yield f"--chdir={ref('run')}"
    yield f"--output={ref('run')}/{LOG}"
    yield "--open-mode=append"
    yield "--no-requeue"
    yield f"--signal=B:TERM@{math.ceil(stop_budget(plan, cluster)) + _NOTICE}"
    for index, component in enumerate(batch.components):
        if index:
            yield ":"
        yield from _component(component, batch, cluster)


def _component(component: Component, batch: Batch, cluster: Cluster) -> Iterator[str]:
    yield f"--nodes={component.nodes}"
    yield from _resources(component, batch, cluster)
    if component.segment is not None:
        yield f"--segment={component.segment}"
    yield from queued(batch)
    if batch.time is not None:
        yield f"--time={timelimit.spelt(batch.time)}"
    yield from batch.sbatch


def _resources(component: Component, batch: Batch, cluster: Cluster) -> Iterator[str]:
    """Whole nodes, or CPUs and memory of each; with one task a node, a step has all CPUs of the job there."""
    if batch.exclusive:
        yield "--exclusive"
    else:
        yield "--ntasks-per-node=1"
        if component.cpus is not None:
            yield f"--cpus-per-task={component.cpus}"
    if not any(word.startswith(_MEMORY) for word in batch.sbatch):
        if batch.exclusive:
            yield "--mem=0"
        elif component.memory is not None:
            yield f"--mem={component.memory}M"
    if component.gpus:
        yield (
            f"--gres=gpu:{component.gpus}"
            if cluster.node.gpu_request == "gres"
            else f"--gpus-per-node={component.gpus}"
        )
