"""Steps as `srun` inside an allocation, in words proven on Slurm 22.05 and 24.11.

Every option is one word, `--flag=value`, and says what Slurm would otherwise take from the environment: nodes and
tasks (else the whole allocation's), `--overlap` (else a second step on a node waits), `--cpu-bind=none` (else a step
gets one CPU under task/affinity), no `--mem` or `--cpus-per-task` (either may be refused). `%t` in the names of the
output files makes the node write them, so that they outlive `srun`. GPUs are masked inside the step, since Slurm
overwrites an exported CUDA_VISIBLE_DEVICES.

Signals to the `srun` process do not reach the step gently: TERM kills its tasks at once.
"""

from launcher.plan.step import Step
from launcher.run.script import ref


def srun(step: Step) -> tuple[str, ...]:
    """The words before the container's and the command's; `--` is the caller's."""
    nodes = len(step.nodes)
    tasks = max(step.tasks, nodes)
    return (
        "srun",
        f"--jobid={ref('job')}",
        "--overlap",
        f"--nodes={nodes}",
        f"--ntasks={tasks}",
        *((f"--ntasks-per-node={tasks // nodes}",) if tasks > 1 else ()),
        f"--nodelist={','.join(ref('host', node) for node in step.nodes)}",
        f"--job-name={step.name}",
        "--kill-on-bad-exit=1",
        "--input=none",
        "--mpi=none",
        "--cpu-bind=none",
        "--unbuffered",
        f"--output={ref('run')}/logs/{step.name}.%t.out",
        f"--error={ref('run')}/logs/{step.name}.%t.err",
    )


def env(step: Step) -> tuple[str, ...]:
    """The words that mask the step's GPUs, put right before its command; none for a step without GPUs."""
    return ("env", f"CUDA_VISIBLE_DEVICES={','.join(map(str, step.gpus))}") if step.gpus else ()
