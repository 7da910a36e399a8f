"""Asks a site what it is: Slurm's own programs here, and a small program on one compute node."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from launcher.execute.images import inspect
from launcher.execute.images.failure import Failure
from launcher.execute.inside import node
from launcher.execute.interrupt import abreast
from launcher.execute.slurm import queue, reading, refusal
from launcher.execute.world import Ran, World
from launcher.images.reference import File, parse
from launcher.model import sitepath
from launcher.model.cluster import Cluster
from launcher.model.option import queued
from launcher.model.survey import Survey, Told, told
from launcher.run import account
from launcher.text.diagnostic import Refused

PATIENCE = 30.0
"""Seconds that a compute node is waited for unless somebody says otherwise."""

SHARED = ("runs", "store.path")
"""Keys of folders that login and compute nodes must see as one."""

_SHAPES = ("sinfo", "--exact", "--all", "--noheader", reading.SHAPES)
_QUESTIONS: Mapping[str, Sequence[str]] = {
    "version": ("sinfo", "--version"),
    "options": ("srun", "--help"),
    "mpis": ("srun", "--mpi=list"),
    "settings": ("scontrol", "show", "config"),
    "accounts": ("sacctmgr", "--noheader", "--parsable2", "show", "assoc", f"user={os.geteuid()}", "format=account"),
}

# A node's Python is not known yet: the first of these that is there runs the program. RHEL keeps one for itself.
_PYTHONS = ("python3", *(f"python3.{minor}" for minor in range(9, 16)), "/usr/libexec/platform-python")
_RUN = """\
text=$1 order=$2
shift 2
for each; do
    command -v "$each" >/dev/null 2>&1 && exec "$each" -I -c "$text" "$order"
done
echo "none of $* is there" >&2
exit 1"""
_WORK = 60.0


def login(world: World) -> Survey:
    """What Slurm's programs tell here; no compute node is asked. Raises Refused, exit 5, where they do not answer."""
    shapes = queue.ask(world, _SHAPES)
    if shapes.exit:
        raise refusal.refused(shapes.err, "slurm-absent")
    said = abreast(lambda words: _try(world, words), _QUESTIONS.values(), len(_QUESTIONS))
    ran = dict(zip(_QUESTIONS, said, strict=True))
    accounts = [line.strip() for line in ran["accounts"].out.splitlines() if line.strip()]
    return Survey(
        slurm=reading.version(ran["version"].out),
        options=reading.options(ran["options"].out, ""),
        # Slurm before 22.05 prints them on standard error.
        mpis=reading.mpis(ran["mpis"].out) or reading.mpis(ran["mpis"].err),
        shapes=tuple(reading.shapes(shapes.out)),
        accounts=tuple(dict.fromkeys(accounts)) if ran["accounts"].exit == 0 else None,
        settings=reading.settings(ran["settings"].out),
    )


def survey(world: World, cluster: Cluster, patience: float = PATIENCE) -> Survey:
    """What is here, and on a compute node, which is waited for `patience` seconds; without Slurm only this machine.

    Raises Refused as `login`.
    """
    if cluster.scheduler == "local":
        return _asked(world, Survey(), cluster, (), _WORK)
    found = login(world)
    where = ("srun", *_job(world, found, cluster, patience), "--nodes=1", "--ntasks=1", "--input=none", "--quiet")
    return _asked(world, found, cluster, where, patience + _WORK)


def _job(world: World, found: Survey, cluster: Cluster, patience: float) -> Iterator[str]:
    """An allocation that is there, else a short one of its own; a partition that is none is not asked for."""
    job = world.environ.get("SLURM_JOB_ID")
    if job is not None:
        yield f"--jobid={job}"
        yield "--overlap"
        return
    yield f"--immediate={max(1, round(patience))}"
    yield "--time=2"
    yield "--job-name=launch-doctor"
    there = {shape.partition for shape in found.shapes}
    said = cluster.slurm
    known = {*(said.partition or "").split(",")} <= there
    yield from queued(said if known else said.model_copy(update={"partition": None}))


def _asked(world: World, found: Survey, cluster: Cluster, where: Sequence[str], patience: float) -> Survey:
    folders = dict(_folders(world, cluster))
    with _markers(folders if where else {}) as markers:
        order = json.dumps({**_order(cluster, found), "folders": folders, "markers": markers})
        text = Path(node.__file__).read_text(encoding="utf-8")
        words = (*where, "sh", "-c", _RUN, "sh", text, order, cluster.python, *_PYTHONS)
        ran = _try(world, words, patience)
    answer = _read(ran.out) if ran.exit == 0 else None
    if answer is not None:
        return replace(found, told=answer, images=dict(_compressed(cluster)))
    lines = refusal.words(ran.err)
    return replace(found, silence=lines[-1] if lines else "it said nothing")


def _order(cluster: Cluster, found: Survey) -> Mapping[str, Any]:
    """What the program on the node is to look at."""
    plugstack = found.settings.get("PlugStackConfig", "")
    return {
        "python": cluster.python,
        "paths": list(paths(cluster)),
        "plugstack": plugstack if plugstack.startswith("/") else "/etc/slurm/plugstack.conf",
    }


def _folders(world: World, cluster: Cluster) -> Iterator[tuple[str, str]]:
    """The folders that are written to, by their keys, `$USER` and `$HOME` expanded."""
    store = None if cluster.store is None else cluster.store.path
    named = {"runs": cluster.runs, "store.path": store, "apptainer.cache": cluster.apptainer.cache}
    for key, path in {**named, "node.local": cluster.node.local}.items():
        with suppress(KeyError):
            if path is not None:
                yield key, sitepath.expand(path, account.known(world.environ))


def _compressed(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Image files that are seen here, and what the squashfs in them is compressed by."""
    for path in _images(cluster):
        with suppress(Failure):
            yield path, inspect.file(Path(path)).header.compressor


def _images(cluster: Cluster) -> Iterator[str]:
    for image in cluster.images.values():
        try:
            source = parse(image.meant(cluster.arch) or "")
        except ValueError:
            continue
        if isinstance(source, File) and source.path.startswith("/"):
            yield source.path


def paths(cluster: Cluster) -> Iterator[str]:
    """What the cluster file names on its compute nodes: image files, models, sources of mounts."""
    yield from _images(cluster)
    yield from (model.path for model in cluster.models.values() if model.path.startswith("/"))
    yield from (mount.source for mount in cluster.mounts if mount.source.startswith("/"))


@contextmanager
def _markers(folders: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """A file in each of the folders that all nodes must see, for as long as they are asked; none where none can be."""
    made: dict[str, str] = {}
    with ExitStack() as stack:
        for key in (key for key in SHARED if key in folders):
            with suppress(OSError):
                near = node.above(folders[key])
                made[key] = stack.enter_context(tempfile.NamedTemporaryFile(prefix=".launch-doctor-", dir=near)).name
        yield made


def _read(text: str) -> Told | None:
    """The answer is the last line: a site's own programs may have printed others."""
    try:
        return told(json.loads(text.strip().splitlines()[-1]))
    except (ValueError, IndexError, KeyError, TypeError, AttributeError):
        return None


def _try(world: World, words: Sequence[str], patience: float = _WORK) -> Ran:
    try:
        return queue.ask(world, words, patience)
    except Refused as refused:
        return Ran(127, "", refused.diagnostics[0].message)
