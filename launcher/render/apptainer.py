"""Containers by Apptainer: the words of `apptainer exec` round what runs inside.

Facts of Apptainer 1.4.5 without setuid.

`--cleanenv` keeps the job's variables out (but where several tasks have to know their ranks from them) and
`--no-eval` keeps a shell from reading values; what a role is to see is named APPTAINERENV_X, exact for every byte.
Never `--containall`: it has a pid namespace, and a role could not be asked to end by its pid. A root is read-only; a
step whose role has a preamble has a folder on the node's own disk laid over it (`--overlay`), which an ordinary user
can write to as fake root alone (`--fakeroot`).

The folder is made on the node before Apptainer starts, belongs to one step, and is removed as it was written: as fake
root.
"""

from launcher.model import sitepath
from launcher.model.cluster import Cluster
from launcher.plan.step import Mount, Step
from launcher.render.enter import enter
from launcher.render.pyxis import RUN, image, seen
from launcher.render.roots import Shared
from launcher.run.script import File, Root, ref

PREFIX = "APPTAINERENV_"
"""Before the name of each variable that is to be seen inside."""

OVERLAY = "setup/_overlay.sh"
PMIX = "setup/_pmix.sh"

FILES = (
    File(
        OVERLAY,
        text="""\
# _overlay.sh FOLDER WORDS...: makes the folder, then becomes WORDS.
mkdir -p "$1" || exit
shift
exec "$@"
""",
    ),
    File(
        PMIX,
        text="""\
# _pmix.sh WORDS...: shows the container the folder of Slurm's PMIx server, then becomes WORDS.
# It is below SlurmdSpoolDir and another for each step: only a task is told where, and no container shows it.
if [ -d "${PMIX_SERVER_TMPDIR-}" ]; then
    export APPTAINER_BIND="$PMIX_SERVER_TMPDIR"
fi
exec "$@"
""",
    ),
)

# Apptainer refuses to be told HOME, and looks for the program on the PATH it is told.
_INNER = ("PATH", "HOME")


def apptainer(step: Step, cluster: Cluster, root: Shared | None = None) -> tuple[str, ...]:
    """The words that start the step's container, to be followed by what runs inside.

    With `root` the folder that a preparing step wrote is laid over the image read-only.
    """
    overlay: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    if root is not None:
        overlay = (f"--overlay={folder(root.step, cluster)}:ro",)
    elif step.writable:
        before = ("sh", f"{ref('run')}/{OVERLAY}", folder(step, cluster))
        overlay = ("--fakeroot", f"--overlay={folder(step, cluster)}")
    if step.mpi:
        before = (*before, "sh", f"{ref('run')}/{PMIX}")
    binds = (f"{ref('run')}:{RUN}", *map(_bind, step.mounts))
    return (
        *before,
        *("apptainer", "--quiet", "exec", "--no-eval"),
        *(() if cluster.apptainer.home else ("--no-home",)),
        *(() if _ranked(step) else ("--cleanenv",)),
        "--pwd=/",
        *((f"--{cluster.apptainer.gpu}",) if step.gpus else ()),
        f"--bind={','.join(binds)}",
        *overlay,
        image(step, cluster),
    )


def inside(step: Step, words: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """What the container runs: the role's command (or `words`) behind preamble, GPU mask and its own variables."""
    inner = {name: seen(value) for name, value in step.env.items() if name in _INNER}
    return enter(step, RUN, inner, tuple(map(seen, step.words if words is None else words)))


def variables(step: Step, cluster: Cluster) -> dict[str, str]:
    """The environment of `srun`: the step's variables by the names that take them inside, and the cache."""
    found = {f"{PREFIX}{name}": seen(value) for name, value in step.env.items() if name not in _INNER}
    if cluster.apptainer.cache is not None:
        found["APPTAINER_CACHEDIR"] = late(cluster.apptainer.cache)
    return found


def carried(step: Step, cluster: Cluster) -> tuple[str, ...]:
    """What the cluster's `inherit` names: `--cleanenv` keeps the job's environment out."""
    return tuple(name for name in cluster.inherit if name not in step.env_from)


def folder(step: Step, cluster: Cluster) -> str:
    """The folder that is laid over the step's image, on the node's own disk."""
    return f"{late(cluster.node.local).rstrip('/')}/{_run()}/{step.name}"


def leavings(step: Step, cluster: Cluster) -> Root:
    """All folders of the run on a node: files in them belong to fake users, so a container removes them."""
    parent = late(cluster.node.local).rstrip("/") or "/"
    words = (
        "apptainer",
        "--quiet",
        "exec",
        "--no-home",
        "--cleanenv",
        "--pwd=/",
        "--fakeroot",
        f"--bind={parent}:/mnt",
    )
    return Root(
        "directory", f"{parent.rstrip('/')}/{_run()}", (*words, image(step, cluster), "rm", "-rf", f"/mnt/{_run()}")
    )


def late(path: str) -> str:
    """A path of the cluster with its variables as late references."""
    return sitepath.expand(path, {"USER": ref("user"), "HOME": ref("home")})


def _ranked(step: Step) -> bool:
    """Whether the step's tasks tell themselves apart by what Slurm sets for each (SLURM_PROCID, PMIX_RANK)."""
    return step.mpi or step.tasks > len(step.nodes)


def _run() -> str:
    return f"launch-{ref('job')}-{ref('id')}"


def _bind(mount: Mount) -> str:
    return f"{_escaped(mount.source)}:{_escaped(mount.target)}" + (":ro" if mount.read_only else "")


def _escaped(path: str) -> str:
    return path.replace(",", "\\,").replace(":", "\\:")
