"""GPUs and nodes: what the plan could not meet, and what it would leave unused."""

import inspect
from collections import Counter
from collections.abc import Iterator, Mapping

from launcher.checks.case import Case, Check
from launcher.plan.fault import KINDS, diagnostic
from launcher.text.diagnostic import Diagnostic, Severity


def gpus_idle(case: Case) -> Iterator[Diagnostic]:
    """Nodes are held with GPUs that no replica has

    A job gets whole nodes, unless the cluster says `[slurm] exclusive = false`; then each of its nodes has as many
    GPUs as the fullest one. GPUs that no replica asks for are waited for, paid for and left idle: of 502 published
    prefill/decode recipes 107 did so. This is a warning.

        [roles.decode]
        gpus = 6            # of nodes with 8: two stay idle beside every replica

    Use sizes that fill a node, more replicas, or fewer nodes.
    """
    layout, node = case.outline.layout, _held(case)
    held = layout.nodes * node
    idle = layout.idle - layout.nodes * (case.job.cluster.node.gpus - node)
    # On this machine a rehearsal makes its GPUs up: nobody waits for them.
    imagined = case.job.rehearsed and case.job.cluster.scheduler == "local"
    if idle <= 0 or imagined or case.outline.faults:
        return
    owner = max(case.job.roles, key=lambda role: (role.gpus, role.mode is not None))
    nodes = f"{layout.nodes} node{'s' * (layout.nodes > 1)}"
    what = " ".join(filter(None, [case.job.cluster.node.gpu, "GPUs"]))
    if owner.gpus:
        message, place = f"{idle} of {held} {what} on {nodes} would be idle", owner.place("gpus")
        advice = f"ask for GPUs that fill nodes of {node}, or for more replicas"
    else:
        message, place = f"no role asks for GPUs: all {held} on {nodes} would be idle", owner.place()
        advice = "say `gpus` of one replica in the worker's role"
    yield Diagnostic("gpus-idle", message, place, Severity.WARNING, help=advice)


def _held(case: Case) -> int:
    """GPUs that the job has on each of its nodes."""
    cluster = case.job.cluster
    if cluster.scheduler == "local" or cluster.slurm.exclusive:
        return cluster.node.gpus
    taken = Counter(node for replica in case.outline.replicas for node in replica.nodes for _ in replica.gpus)
    return max(taken.values(), default=0)


def _planned(kind: str, page: str) -> Check:
    """The check that tells faults of one kind that the plan found."""

    def check(case: Case) -> Iterator[Diagnostic]:
        yield from (diagnostic(fault, case.job) for fault in case.outline.faults if fault.kind == kind)

    check.__doc__ = inspect.cleandoc(page)
    return check


PLANNED: Mapping[str, Check] = {kind: _planned(kind, page) for kind, page in KINDS.items()}
"""A check for each kind of fault; none of them can be allowed, since there is no plan with a fault."""
