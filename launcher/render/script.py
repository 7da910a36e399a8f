"""From a plan to the Script the supervisor executes: the plan's steps in the cluster's words.

On Slurm there are children beside the plan's: one that prepares each root which several steps join, and the janitor
that takes such roots away. docs/decisions has what the supervisor does with a Script there ("A Script inside a Slurm
job").
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from launcher.model.cluster import Cluster
from launcher.model.job import BENCHMARK
from launcher.plan.step import Batch, Plan, Step
from launcher.render import allocation, slurm
from launcher.render.bare import bare, environment
from launcher.render.roots import shared
from launcher.run.script import Allocation, Budgets, Child, Script, ref, shown

LOCAL = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR", "TERM")
"""Variables of the submitting shell that steps on this machine get."""

# Children are asked to end all at once, so the slowest decides; then come the KILLs and the last lines.
_STOP_MARGIN = 5.0
_LATE = ("path", "user", "home")


def render(plan: Plan, cluster: Cluster) -> Script:
    """The Script of `plan` on `cluster`, the one it was planned for. Raises `Refused` for an image it cannot use."""
    made = _local(plan) if plan.batch is None else _slurm(plan, cluster, plan.batch)
    bench = tuple(replace(child, benchmark=True) if child.role == BENCHMARK else child for child in made.children)
    return replace(made, children=bench)


def _local(plan: Plan) -> Script:
    children = tuple(child(step, bare(step), environment(step)) for step in plan.steps)
    return Script(
        name=plan.name,
        slots=("run", *_here(children), *_nodes(plan.nodes)),
        children=children,
        files=plan.files,
        ready=plan.ready,
        budgets=Budgets(plan.timeout, _slowest(plan) + _STOP_MARGIN),
        inherit=LOCAL,
        url=plan.url,
    )


def _slurm(plan: Plan, cluster: Cluster, batch: Batch) -> Script:
    runtime = slurm.RUNTIMES[cluster.runtime]
    joins = shared(plan, cluster)
    roots = list({root.name: root for root in joins.values()}.values())
    left = runtime.roots(plan, cluster, roots)
    guard = (allocation.janitor(plan, cluster, batch),) if left else ()
    after = tuple(each.name for each in guard)
    making = {root.name: tuple(slurm.prepared(root, cluster, batch, after)) for root in roots}
    made = tuple(each for children in making.values() for each in children)
    steps = tuple(
        _waiting(
            slurm.joined(step, cluster, batch, joins.get(step.name)),
            after if runtime.guarded(step) else (),
            making[joins[step.name].name] if step.name in joins else (),
        )
        for step in plan.steps
    )
    children = (*guard, *made, *steps)
    told = allocation.allocation(plan, cluster, batch, left)
    return Script(
        name=plan.name,
        slots=("run", "id", "job", "jobs", *_met(children, told), *_nodes(plan.nodes)),
        children=children,
        files=(*runtime.files, *map(runtime.told, plan.files)),
        ready=plan.ready,
        budgets=Budgets(plan.timeout, stop_budget(plan, cluster)),
        inherit=(*allocation.INHERIT, *cluster.inherit),
        url=plan.url,
        allocation=told,
    )


def stop_budget(plan: Plan, cluster: Cluster) -> float:
    """Seconds in which a run on Slurm has ended: its slowest step, then what must be forced, then the janitor."""
    return _slowest(plan) + allocation.STOP_MARGIN + cluster.slurm.kill_wait


def _waiting(step: Child, guard: tuple[str, ...], made: Sequence[Child]) -> Child:
    """The step after the janitor where it leaves something, and after whoever prepares roots on its nodes."""
    needed = tuple(each.name for each in made if set(each.nodes) & set(step.nodes))
    return replace(step, after=(*(() if needed else guard), *needed, *step.after))


def child(step: Step, argv: tuple[str, ...], variables: dict[str, str]) -> Child:
    """A step as a process of this machine."""
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


def line(words: Sequence[str]) -> str:
    """`words` as one line for a shell, late references as people read them. For printing, never for running."""
    return shlex.join(shown(word) for word in words)


def _slowest(plan: Plan) -> float:
    return max((step.stop.seconds for step in plan.steps), default=0.0)


def _here(children: Sequence[Child]) -> Iterator[str]:
    """What only this machine knows: its Python, and its PATH where a step's own directory comes before it."""
    yield "python"
    if any(ref("path") in child.env.get("PATH", "") for child in children):
        yield "path"


def _met(children: Iterable[Child], told: Allocation) -> Iterator[str]:
    """Late references that only some Scripts have."""
    words = [word for child in children for word in (*child.argv, *child.env.values())]
    words += [word for root in told.roots for word in (root.name, *root.remove)]
    yield from (name for name in _LATE if any(ref(name) in word for word in words))


def _nodes(count: int) -> Iterator[str]:
    for kind in ("host", "ip"):
        yield from (f"{kind}{node}" for node in range(count))
