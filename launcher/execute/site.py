"""Where a run will be, by the scheduler of its cluster: what is known before it starts, and where its directory is."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from launcher.execute import local
from launcher.execute.journal import refusal, root
from launcher.execute.slurm import submit, within
from launcher.execute.slurm.refusal import meaning
from launcher.execute.slurm.within import Allocation
from launcher.execute.world import World
from launcher.model import sitepath
from launcher.model.cluster import Cluster
from launcher.model.job import Job
from launcher.plan.batch import inside
from launcher.plan.step import Plan
from launcher.render.sbatch import submission
from launcher.run import account
from launcher.run.script import Script
from launcher.text.diagnostic import Diagnostic, Place, Refused


def _nothing(path: Path) -> Mapping[str, bytes]:
    return {}


NEW = "new"
"""`--in new`: a job of its own, inside an allocation too."""


@dataclass(frozen=True)
class Asked:
    """What the command line says of the job: `--in`, and `--hold`."""

    job: str | None = None
    hold: bool = False


@dataclass(frozen=True)
class Site:
    """`slots` are the late references that are known; `files` gives what the run directory holds beside by its path;
    `where` is the folder it is made in, None for the usual one; `accept` asks the scheduler whether it would take
    the run, returns warnings and raises Refused where not. `kind` is the kind of runs it will be of.
    """

    slots: Mapping[str, str]
    files: Callable[[Path], Mapping[str, bytes]] = _nothing
    where: Path | None = None
    accept: Callable[[], Iterable[Diagnostic]] = lambda: ()
    kind: str = "local"


def allocation(world: World, plan: Plan, asked: Asked) -> Allocation | None:
    """The allocation that the run is to be in: the one asked for, else the one this is, else None for a new job.

    Raises Refused for one that does not do.
    """
    if plan.batch is None:
        return None
    job = asked.job or world.environ.get(within.VARIABLE) or NEW
    return None if job == NEW else within.find(world, job, plan.nodes, "--in" if asked.job else within.VARIABLE)


def fitted(plan: Plan, held: Allocation | None) -> Plan:
    """The plan with the components that its allocation has, whatever it would have asked for: words of steps name
    them.
    """
    if held is None or plan.batch is None:
        return plan
    return replace(plan, batch=inside(plan.batch, plan.nodes, held.sizes))


def site(
    world: World, cluster: Cluster, plan: Plan, script: Script, asked: Asked = Asked(), held: Allocation | None = None
) -> Site:
    """The site of a plan's run, in the allocation that is held or a job of its own. Raises Refused for a folder that
    cannot be told.
    """
    if plan.batch is None:
        return Site(local.slots(world, script))
    where, batch = folder(world, cluster), plan.batch
    if held is not None:
        return Site({}, lambda path: within.documents(path, held), where, kind="allocation")
    wanted = submission(plan, cluster)
    return Site(
        {},
        lambda path: submit.documents(path, wanted, script, hold=asked.hold),
        where,
        lambda: submit.tried(world, wanted, where or root(world), batch),
        "slurm",
    )


def folder(world: World, cluster: Cluster) -> Path | None:
    """The cluster's folder for run directories, `$USER` and `$HOME` expanded; None where it names none."""
    if cluster.runs is None:
        return None
    try:
        return Path(os.path.normpath(sitepath.expand(cluster.runs, account.known(world.environ))))
    except KeyError as error:
        missing = f"`runs` of cluster `{cluster.name}` names ${error.args[0]}, which is not set"
        raise refusal("run-directory", missing) from error


def placed(error: Refused, job: Job) -> Refused:
    """A scheduler's refusal at the keys of recipe or cluster file that it is about, where somebody wrote them."""
    return Refused([each if each.place else replace(each, place=_place(each, job)) for each in error.diagnostics])


def _place(diagnostic: Diagnostic, job: Job) -> Place | None:
    found = meaning("\n".join((diagnostic.message, *diagnostic.notes)))
    keys = found.keys if found else ()
    written = ((origins, key) for key in keys for origins in (job.origins, job.cluster_origins))
    return next((origins.place(key) for origins, key in written if key in origins.chains), None)
