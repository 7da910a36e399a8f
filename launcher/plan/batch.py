"""What Slurm is asked for: whole nodes or a share of them, and nodes near each other."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypedDict

from launcher.model import timelimit
from launcher.model.job import Job
from launcher.model.option import Options, spell
from launcher.plan.outline import Outline
from launcher.plan.share import share, whole
from launcher.plan.step import Batch, Component, Step


class Asked(TypedDict):
    """Wishes of one value each."""

    partition: str | None
    account: str | None
    qos: str | None
    time: int | None


def batch(job: Job, base: Outline, steps: Iterable[Step]) -> Batch | None:
    """What the job of a plan asks Slurm for; None on a cluster without it."""
    if job.cluster.scheduler == "local":
        return None
    taken = _taken(base.layout.nodes, steps)
    sizes = blocks(job, base)
    components, start = [], 0
    for nodes, segment in sizes:
        components.append(_component(job, nodes, segment, max(taken[start : start + nodes])))
        start += nodes
    return Batch(
        tuple(components),
        job.cluster.slurm.exclusive,
        **_asked(job),
        sbatch=_words(job, "sbatch", job.cluster.slurm.sbatch, job.recipe.slurm.sbatch),
        srun=_words(job, "srun", job.cluster.slurm.srun, job.recipe.slurm.srun),
    )


def inside(batch: Batch, nodes: int, sizes: Iterable[int]) -> Batch:
    """The batch of a plan of so many nodes in an allocation that is there: its components have these numbers of nodes.

    The allocation may have more nodes than the plan; the first are taken.
    """
    components, start = list[Component](), 0
    for size in sizes:
        count = min(size, nodes - start)
        if count > 0:
            own = [batch.components[batch.component(node)] for node in range(start, start + count)]
            components.append(Component(count, max(each.gpus for each in own)))
        start += size
    return replace(batch, components=tuple(components))


def blocks(job: Job, base: Outline) -> list[tuple[int, int | None]]:
    """Components of the job: how many nodes each has, and how many of them must be in one NVLink domain.

    One component is enough unless roles that want to be in one domain each have different numbers of nodes.
    """
    nodes, wanted = base.layout.nodes, job.recipe.slurm.segment
    if wanted == "role":
        sizes = _roles(nodes, base)
        if len(set(sizes)) > 1:
            return [(size, _several(size)) for size in sizes]
        return [(nodes, _several(sizes[0]))]
    if wanted is None:
        return [(nodes, None)]
    return [(nodes, _several(nodes if wanted == "job" else min(int(wanted), nodes)))]


def _roles(nodes: int, base: Outline) -> list[int]:
    """Numbers of nodes, in order, such that no worker role and no replica is in two of the parts."""
    reach: dict[str, tuple[int, int]] = {}
    for replica in base.replicas:
        if replica.role.mode is not None or len(replica.nodes) > 1:
            name = replica.name if replica.role.mode is None else replica.role.name
            low, high = reach.get(name, (nodes, -1))
            reach[name] = (min(low, *replica.nodes), max(high, *replica.nodes))
    sizes: list[int] = []
    end = 0
    for low, high in sorted(reach.values()):
        if low >= end:
            sizes += [low - end] * (low > end) + [high + 1 - low]
        else:
            sizes[-1] += max(high + 1 - end, 0)
        end = max(end, high + 1)
    return sizes + [nodes - end] * (nodes > end)


def _several(nodes: int) -> int | None:
    return nodes if nodes > 1 else None


def _taken(nodes: int, steps: Iterable[Step]) -> list[int]:
    """How many GPUs of each node are in use, counted from the first device."""
    found = [0] * nodes
    for step in steps:
        for node in step.nodes:
            found[node] = max(found[node], *(gpu + 1 for gpu in step.gpus), 0)
    return found


def _component(job: Job, nodes: int, segment: int | None, gpus: int) -> Component:
    slurm, node = job.cluster.slurm, job.cluster.node
    if slurm.exclusive:
        return Component(nodes, _asked_gpus(job, node.gpus if gpus else 0), segment=segment)
    cpus, memory = share(node, gpus) if gpus else whole(node)
    return Component(nodes, _asked_gpus(job, gpus), cpus, memory, segment)


def _asked_gpus(job: Job, gpus: int) -> int:
    return 0 if job.cluster.node.gpu_request == "none" else gpus


def _asked(job: Job) -> Asked:
    recipe, site = job.recipe.slurm, job.cluster.slurm
    time = recipe.time or site.time
    return {
        "partition": recipe.partition or site.partition,
        "account": recipe.account or site.account,
        "qos": recipe.qos or site.qos,
        "time": None if time is None else timelimit.seconds(time),
    }


def _words(job: Job, program: str, *tables: Options) -> tuple[str, ...]:
    merged = {key: value for table in tables for key, value in table.items()}
    return tuple(spell(job.options.get(program, ()), merged))
