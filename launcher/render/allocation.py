"""What the supervisor needs to know of a Slurm job, beside the steps of the plan: facts, janitor, signals.

The programs of these steps are in `run.pyz`, on the compute nodes themselves, outside any container.
"""

import math
from collections.abc import Sequence

from launcher.images.reference import File as ImageFile
from launcher.images.reference import parse
from launcher.model.cluster import Cluster
from launcher.plan.step import Batch, Plan, Step
from launcher.render.srun import srun
from launcher.run.script import Allocation, Child, Expect, Gate, Node, Root, Stop, ref
from launcher.run.words import OWN

FACTS = f"{OWN}facts"
JANITOR = f"{OWN}janitor"
TELL = f"{OWN}tell"
"""Names of the launcher's own steps: a role's has no dot."""

READY = "watching"
"""The line that the janitor prints on each node once it would notice the end."""

INHERIT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "SLURM_CONF")
"""Variables of the batch script that `srun` gets; any SLURM_* may change what it does.

SLURM_JOB_ID too: with it and `--jobid`, a step in several components is refused (22.05: "job size of 2, already
allocated 1 nodes to previous components").
"""

SCRUB = (
    *("SLURM_*", "SRUN_*", "SBATCH_*", "SALLOC_*", "SCANCEL_*", "SQUEUE_*", "PYXIS_*", "ENROOT_*"),
    *("APPTAINER*", "SINGULARITY*", "PMI*", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES"),
)
"""Variables of a job, and of shells on login nodes, that change what Slurm and container runtimes do."""

# The steps that ask and tell are over in a tenth of a second; then TERM to whole steps, then KILL, then the rest.
STOP_MARGIN = 15.0

# KillWait is what Slurm gives a step from TERM to KILL when a job ends; the janitor must be done before.
_GRACE = 2 / 3
_SPECIAL = ("tmpfs", "umount")


def allocation(plan: Plan, cluster: Cluster, batch: Batch, roots: Sequence[Root]) -> Allocation:
    """The Script's part about the job that it runs in."""
    everywhere = tuple(range(plan.nodes))
    return Allocation(
        facts=host(Step(FACTS, "", everywhere, program(cluster, "facts")), batch),
        nodes=tuple(_node(node, plan, cluster, batch) for node in everywhere),
        steps=("squeue", "--steps", "--noheader", f"--jobs={ref('jobs')}", "--format=%i %j"),
        signal=("scancel", "--signal=TERM"),
        kill=("scancel",),
        arch=cluster.arch or "",
        interface=cluster.interface or "",
        scrub=SCRUB,
        roots=tuple(roots),
        grace=float(math.floor(cluster.slurm.kill_wait * _GRACE)),
    )


def janitor(plan: Plan, cluster: Cluster, batch: Batch) -> Child:
    """The step that takes `Allocation.roots` away at the end, whoever brings it about: Slurm asks every step."""
    step = Step(JANITOR, "", tuple(range(plan.nodes)), program(cluster, "janitor"))
    seen = Gate("log", f"{ref('run')}/logs/{JANITOR}.log", (Expect(READY, count=plan.nodes),))
    return Child(
        name=JANITOR,
        role="",
        argv=host(step, batch, together=False),
        gates=(seen,),
        critical=False,
        stop=Stop(seconds=float(cluster.slurm.kill_wait)),
        nodes=step.nodes,
        last=True,
    )


def host(step: Step, batch: Batch, *, together: bool = True) -> tuple[str, ...]:
    """The words of a step of the launcher's own: on the nodes themselves, what it prints comes out of `srun`."""
    return (*srun(step, batch, output=False, together=together), "--", *step.words)


def program(cluster: Cluster, verb: str) -> tuple[str, ...]:
    """The words that run a part of the supervisor on a compute node; more may follow."""
    return (cluster.python, "-I", f"{ref('run')}/run.pyz", f"--{verb}", ref("run"))


def _node(node: int, plan: Plan, cluster: Cluster, batch: Batch) -> Node:
    here = [step for step in plan.steps if node in step.nodes]
    component = batch.components[batch.component(node)]
    ports = {port for step in here if step.nodes[0] == node for port in step.listens}
    paths = {path for step in here for path in _paths(step, cluster)}
    return Node(
        ports=tuple(sorted(ports)),
        paths=tuple(sorted(paths)),
        gpus=component.gpus,
        cpus=max([step.cpus or 0 for step in here], default=0),
        tell=host(Step(TELL, "", (node,), program(cluster, "tell")), batch),
    )


def _paths(step: Step, cluster: Cluster) -> set[str]:
    """What must be there before the step can start: its image and what is mounted."""
    if cluster.runtime == "none":
        return {step.reference} if step.reference is not None and step.reference.startswith("/") else set()
    found = {mount.source for mount in step.mounts if mount.source not in _SPECIAL}
    image = None if step.reference is None else parse(step.reference)
    return found | ({image.path} if isinstance(image, ImageFile) else set())
