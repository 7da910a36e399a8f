"""Steps as `srun` inside an allocation, in words proven on Slurm 22.05 and 24.11.

Every option is one word, `--flag=value`, and says what Slurm would otherwise take from the environment: nodes and
tasks (else the whole allocation's), `--overlap` (else a second step on a node waits), `--cpu-bind=none` (else a step
gets one CPU under task/affinity), no `--mem` or `--cpus-per-task` (either may be refused). `%t` in the name of the
output file makes the node write it, so that it outlives `srun`; without `--error` both streams go there, in order.
GPUs are masked inside the step, since Slurm overwrites an exported CUDA_VISIBLE_DEVICES.

In a heterogeneous job a step says which component it is in, and one in several repeats its options for each, parted
by `:`; the leader's id stands for the job.

Signals to the `srun` process do not reach the step gently: TERM kills its tasks at once.
"""

from collections.abc import Iterator

from launcher.plan.step import Batch, Step
from launcher.run.script import ref, step_name


def srun(step: Step, batch: Batch, *, mpi: str = "none", output: bool = True, together: bool = True) -> tuple[str, ...]:
    """The words before the container's and the command's; `--` is the caller's.

    Without `output` what the tasks print comes out of `srun` itself. With `together` the bad end of a task ends all.
    """
    last = (f"--kill-on-bad-exit={int(together)}", "--input=none", f"--mpi={mpi}", "--cpu-bind=none", "--unbuffered")
    files = ("--open-mode=append", f"--output={ref('run')}/logs/{step.name}.%t.log") if output else ()
    parts = [(*_place(step, batch, group, nodes), *last, *files) for group, nodes in _components(step, batch).items()]
    words = [word for part in parts for word in (":", *part)]
    return ("srun", *words[1:])


def outputs(step: Step) -> tuple[str, ...]:
    """The files that the step's tasks write, relative to the run directory."""
    return tuple(f"logs/{step.name}.{task}.log" for task in range(max(step.tasks, len(step.nodes))))


def _components(step: Step, batch: Batch) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for node in step.nodes:
        found.setdefault(batch.component(node), []).append(node)
    return found


def _place(step: Step, batch: Batch, group: int, nodes: list[int]) -> Iterator[str]:
    each = max(step.tasks // len(step.nodes), 1)
    tasks = each * len(nodes)
    yield f"--jobid={ref('job')}"
    if len(batch.components) > 1:
        yield f"--het-group={group}"
    yield "--overlap"
    yield f"--nodes={len(nodes)}"
    yield f"--ntasks={tasks}"
    if tasks > 1:
        yield f"--ntasks-per-node={each}"
    yield f"--nodelist={','.join(ref('host', node) for node in nodes)}"
    yield f"--job-name={step_name(step.name, ref('id'))}"
