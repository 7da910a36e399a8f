"""Where a run will be, by the scheduler of its cluster: what is known before it starts, and where its directory is."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from launcher.execute import local
from launcher.execute.journal import refusal, root
from launcher.execute.slurm import submit
from launcher.execute.world import World
from launcher.model import sitepath
from launcher.model.cluster import Cluster
from launcher.plan.step import Plan
from launcher.render.sbatch import submission
from launcher.run.script import Script


def _nothing(path: Path) -> Mapping[str, bytes]:
    return {}


@dataclass(frozen=True)
class Site:
    """`slots` are the late references that are known; `files` gives what the run directory holds beside by its path;
    `where` is the folder it is made in, None for the usual one; `accept` asks the scheduler whether it would take
    the run and raises Refused where not.
    """

    slots: Mapping[str, str]
    files: Callable[[Path], Mapping[str, bytes]] = _nothing
    where: Path | None = None
    accept: Callable[[], None] = lambda: None


def site(world: World, cluster: Cluster, plan: Plan, script: Script) -> Site:
    """The site of a plan's run. Raises Refused for a folder that cannot be told."""
    if plan.batch is None:
        return Site(local.slots(world, script))
    wanted = submission(plan, cluster)
    where = folder(world, cluster)
    return Site(
        {},
        lambda path: submit.documents(path, wanted, script, cluster.name),
        where,
        lambda: submit.tried(world, wanted, where or root(world)),
    )


def folder(world: World, cluster: Cluster) -> Path | None:
    """The cluster's folder for run directories, `$USER` and `$HOME` expanded; None where it names none."""
    if cluster.runs is None:
        return None
    known = {name: world.environ[name] for name in ("USER", "HOME") if world.environ.get(name)}
    try:
        return Path(os.path.normpath(sitepath.expand(cluster.runs, known)))
    except KeyError as error:
        missing = f"`runs` of cluster `{cluster.name}` names ${error.args[0]}, which is not set"
        raise refusal("run-directory", missing) from error
