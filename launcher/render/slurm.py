"""Steps of a plan as `srun`s, each in its container or in none, and the steps that prepare roots for them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from launcher.model.cluster import Cluster
from launcher.plan.file import SITE_SETUP
from launcher.plan.step import Batch, Plan, Step
from launcher.render import apptainer, bare, enter, pyxis
from launcher.render.roots import Shared
from launcher.render.srun import outputs, srun
from launcher.run.record import record
from launcher.run.script import Child, File, Root
from launcher.run.words import OWN

PREPARE = f"{OWN}prepare"

_Words = tuple[str, ...]


@record
class Runtime:
    """How a kind of container is started. `command` are the words behind srun's own (options of pyxis, then `--`),
    `prepare` those of the step that makes a root, `variables` the environment of `srun`, `roots` what the run
    leaves on its nodes. `prefix` is put before names of variables that come from the submitting shell; `carried` are
    those of a cluster's `inherit` that a step would not see otherwise.
    Steps that are `guarded` leave something of their own, so the janitor has to be there first. `seen` is a text as
    it is true inside.
    """

    command: Callable[[Step, Cluster, Shared | None], _Words]
    prepare: Callable[[Shared, Cluster, Step], _Words]
    variables: Callable[[Step, Cluster], dict[str, str]]
    roots: Callable[[Plan, Cluster, Sequence[Shared]], Sequence[Root]]
    files: tuple[File, ...] = enter.FILES
    prefix: str = ""
    carried: Callable[[Step, Cluster], Sequence[str]] = lambda step, cluster: ()
    guarded: Callable[[Step], bool] = lambda step: False
    seen: Callable[[str], str] = str

    def told(self, file: File) -> File:
        """A file of the plan as steps may read it."""
        return file if file.data is None else replace(file, data=_each(file.data, self.seen))


def _each(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _each(item, change) for key, item in value.items()}
    return [_each(item, change) for item in value] if isinstance(value, (list, tuple)) else value


def child(step: Step, words: _Words, batch: Batch, cluster: Cluster, env: Mapping[str, str]) -> Child:
    """A step as a child of the supervisor; `words` come behind srun's own."""
    runtime = RUNTIMES[cluster.runtime]
    mpi = cluster.slurm.mpi if step.mpi else "none"
    return Child(
        name=step.name,
        role=step.role,
        argv=(*srun(step, batch, mpi=mpi), *batch.srun, *words),
        env=dict(env),
        env_from=(*step.env_from, *runtime.carried(step, cluster)),
        after=step.after,
        gates=step.gates,
        lasting=step.lasting,
        critical=step.critical,
        stop=step.stop,
        nodes=step.nodes,
        outputs=outputs(step),
        env_prefix=runtime.prefix,
    )


def joined(step: Step, cluster: Cluster, batch: Batch, root: Shared | None) -> Child:
    """A step of the plan, in a root of its own or the one it joins."""
    runtime = RUNTIMES[cluster.runtime]
    if root is not None and root.setup:
        # Its own preamble has been run; what the cluster's says of the process (ulimit) is still to be said.
        step = replace(step, setup=None if cluster.setup is None else SITE_SETUP)
    return child(step, runtime.command(step, cluster, root), batch, cluster, runtime.variables(step, cluster))


def prepared(root: Shared, cluster: Cluster, batch: Batch, after: tuple[str, ...]) -> Iterator[Child]:
    """The steps that make a root: one for each component of the job that has nodes of it."""
    runtime = RUNTIMES[cluster.runtime]
    for number, nodes in enumerate(parts(root, batch)):
        step = Step(
            name=f"{PREPARE}.{root.name}" + (f".{number}" if number else ""),
            role=root.step.role,
            nodes=nodes,
            words=("true",),
            tasks=len(nodes),
            lasting=False,
            after=after,
            stop=root.step.stop,
        )
        if root.setup:
            own = root.step
            step = replace(step, gpus=own.gpus, setup=own.setup, env=own.env, env_from=own.env_from, mounts=own.mounts)
        env = runtime.variables(step, cluster) if root.setup else {}
        yield child(step, runtime.prepare(root, cluster, step), batch, cluster, env)


def parts(root: Shared, batch: Batch) -> list[tuple[int, ...]]:
    """The nodes of a root by component."""
    found: dict[int, list[int]] = {}
    for node in root.nodes:
        found.setdefault(batch.component(node), []).append(node)
    return [tuple(nodes) for nodes in found.values()]


def _pyxis(step: Step, cluster: Cluster, root: Shared | None) -> _Words:
    return (*pyxis.container(step, cluster, root), "--", *pyxis.inside(step, cluster))


def _make(root: Shared, cluster: Cluster, step: Step) -> _Words:
    return (*pyxis.make(root, cluster), "--", *(pyxis.inside(step, cluster) if root.setup else step.words))


def _enroot(plan: Plan, cluster: Cluster, roots: Sequence[Shared]) -> Sequence[Root]:
    names = [f"pyxis_{root.container}" for root in roots]
    return [Root("enroot", name, ("enroot", "remove", "--force", name)) for name in names]


def _apptainer(step: Step, cluster: Cluster, root: Shared | None) -> _Words:
    return ("--", *apptainer.apptainer(step, cluster, root), *apptainer.inside(step))


def _write(root: Shared, cluster: Cluster, step: Step) -> _Words:
    return ("--", *apptainer.apptainer(root.step, cluster), *apptainer.inside(step))


def _folders(plan: Plan, cluster: Cluster, roots: Sequence[Shared]) -> Sequence[Root]:
    writing = next((step for step in plan.steps if step.writable), None)
    return [] if writing is None else [apptainer.leavings(writing, cluster)]


def _bare(step: Step, cluster: Cluster, root: Shared | None) -> _Words:
    return ("--", *bare.inside(step, cluster.python))


def _nothing(root: Shared, cluster: Cluster, step: Step) -> _Words:
    raise AssertionError(f"{root.name}: without containers no root is shared")


RUNTIMES: Mapping[str, Runtime] = {
    "none": Runtime(_bare, _nothing, lambda step, cluster: bare.variables(step), lambda plan, cluster, roots: ()),
    "pyxis": Runtime(
        _pyxis,
        _make,
        pyxis.variables,
        _enroot,
        files=(*enter.FILES, *pyxis.FILES),
        prefix=pyxis.PREFIX,
        carried=pyxis.carried,
        seen=pyxis.seen,
    ),
    "apptainer": Runtime(
        _apptainer,
        _write,
        apptainer.variables,
        _folders,
        files=(*enter.FILES, *apptainer.FILES),
        prefix=apptainer.PREFIX,
        carried=apptainer.carried,
        guarded=lambda step: step.writable,
        seen=pyxis.seen,
    ),
}
