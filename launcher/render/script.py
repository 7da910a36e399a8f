"""From a plan to the Script the supervisor executes: the plan's steps in the cluster's words."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

from launcher.model.cluster import Cluster
from launcher.plan.step import Plan, Step
from launcher.render.bare import bare, environment
from launcher.render.pyxis import container, inside, seen
from launcher.render.srun import env, srun
from launcher.run.script import Budgets, Child, Script, ref, shown

LOCAL = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR", "TERM")
"""Variables of the submitting shell that steps on this machine get."""

SLURM = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "SLURM_CONF", "SLURM_JOB_ID")
"""Variables of the batch script that `srun` gets; any other SLURM_* may change what it does."""

# Children are asked to end all at once, so the slowest decides; then come the KILLs and the last lines.
_STOP_MARGIN = 5.0


def render(plan: Plan, cluster: Cluster) -> Script:
    """The Script of `plan` on `cluster`, the one it was planned for. Raises `Refused` for an image it cannot use."""
    local = cluster.scheduler == "local"
    kind = "local" if local else cluster.runtime
    make = _KINDS[kind]
    children = tuple(make(step, cluster) for step in plan.steps)
    return Script(
        name=plan.name,
        slots=("run", *(_here(children) if local else ("job",)), *_nodes(plan.nodes)),
        children=children,
        files=plan.files,
        ready=plan.ready,
        budgets=Budgets(plan.timeout, max((step.stop.seconds for step in plan.steps), default=0.0) + _STOP_MARGIN),
        inherit=LOCAL if local else SLURM,
        url=plan.url,
    )


def _here(children: Sequence[Child]) -> Iterator[str]:
    """What only this machine knows: its Python, and its PATH where a step's own directory comes before it."""
    yield "python"
    if any(ref("path") in child.env.get("PATH", "") for child in children):
        yield "path"


def _nodes(count: int) -> Iterator[str]:
    for kind in ("host", "ip"):
        yield from (f"{kind}{node}" for node in range(count))


def line(words: Sequence[str]) -> str:
    """`words` as one line for a shell, late references as people read them. For printing, never for running."""
    return shlex.join(shown(word) for word in words)


def _local(step: Step, cluster: Cluster) -> Child:
    return _child(step, bare(step), environment(step))


def _slurm(step: Step, cluster: Cluster) -> Child:
    """On the compute node itself, without a container."""
    words = tuple(word.replace(ref("python"), cluster.python) for word in step.words)
    setup = () if step.setup is None else ("bash", f"{ref('run')}/{step.setup}")
    return _child(step, (*srun(step), "--", *setup, *env(step), *words), dict(step.env))


def _pyxis(step: Step, cluster: Cluster) -> Child:
    words = (*srun(step), *container(step, cluster), "--", *inside(step))
    return _child(step, words, {name: seen(value) for name, value in step.env.items()})


_KINDS: Mapping[str, Callable[[Step, Cluster], Child]] = {"local": _local, "none": _slurm, "pyxis": _pyxis}


def _child(step: Step, argv: tuple[str, ...], variables: dict[str, str]) -> Child:
    return Child(
        name=step.name,
        role=step.role,
        argv=argv,
        env=variables,
        env_from=step.env_from,
        after=step.after,
        gates=step.gates,
        lasting=step.lasting,
        critical=step.critical,
        stop=step.stop,
    )
