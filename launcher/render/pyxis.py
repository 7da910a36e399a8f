"""Containers by pyxis and enroot: the `--container-*` words of a step and what runs inside.

Facts: pyxis 0.20 and 0.24. Of two `--container-mounts` or two `--container-env` only the last counts, so each is one
joined option. Switches are written out, their opposites too: an inherited PYXIS_CONTAINER_* would decide otherwise.
A root is read-only, except that a step whose role has a preamble has one of its own to write in. The run directory is
`/launch` in every container. A step that joins a root says nothing of an image: a root that is not there is then an
error, not another unpacking.

Variables reach a container in srun's own environment; those that the image also has win by `--container-env`. What
`srun`, pyxis or enroot would read themselves (PATH, HOME, LD_*, SLURM_*, …) is set inside by `env`: enroot starts a
login shell, whose profile takes the place of PATH.

Only a value of one line can win so: later lines of a named value would become variables of the container. Values of
several lines, and those of the submitting shell, which nobody knows yet, go by a second name that no image has, and
get their own back inside, behind whatever the image or its login shell has set.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from launcher.images.reference import number
from launcher.images.use import use
from launcher.model.cluster import Cluster
from launcher.plan.starter import early
from launcher.plan.step import Mount, Step
from launcher.render.enter import enter
from launcher.render.roots import Shared
from launcher.run.script import File, ref
from launcher.text.diagnostic import Diagnostic, Refused

RUN = "/launch"
"""The run directory in the container."""

PYTHON = "python3"
"""`{python}` in a container: the image's own."""

CODES: Mapping[str, str] = {
    "image-unusable": """An image cannot be named to this cluster's container runtime

Where steps run in containers every role needs an image: an alias of the cluster's `[images]` that stands for
a registry reference, a file (`/path/to/image.sqsh`, for Apptainer `.sif`) or an image of a daemon
(`dockerd://name`). enroot before 4.0 takes no digests.""",
}
"""Code → what `launch explain CODE` prints; the first line is its summary."""

GIVEN = "setup/_given.sh"
PREFIX = "LAUNCH__GIVEN_"
"""Before the name of each variable that gets its own back inside."""

FILES = (
    File(
        GIVEN,
        text=f"""\
# _given.sh NAMES WORDS...: gives variables their own names back, then becomes WORDS.
# They come as {PREFIX}NAME, so that neither the image nor its login shell could put another value in their place.
for LAUNCH__EACH in $1; do
    if eval '[ -n "${{{PREFIX}'"$LAUNCH__EACH"'+set}}" ]'; then
        eval "export $LAUNCH__EACH=\\"\\${PREFIX}$LAUNCH__EACH\\""
        unset "{PREFIX}$LAUNCH__EACH"
    fi
done
unset LAUNCH__EACH
shift
exec "$@"
""",
    ),
)

_ENV_SINCE = (0, 15)
_DROPPED = ("LANG", "LANGUAGE", "LC_ALL")
_SWITCHES = ("--no-container-mount-home", "--no-container-entrypoint", "--no-container-remap-root")


def container(step: Step, cluster: Cluster, root: Shared | None = None) -> tuple[str, ...]:
    """The options of pyxis for the step, in a root of its own or the one it joins.

    Raises `Refused` for an image that this cluster cannot start.
    """
    if root is None:
        source: tuple[str, ...] = (f"--container-image={image(step, cluster)}",)
    else:
        source = (f"--container-name={root.container}:no_exec",)
    writable = step.writable and root is None
    return (*source, *_switches(writable), _mounts(step), *_env(step, cluster), "--container-workdir=/")


def make(root: Shared, cluster: Cluster) -> tuple[str, ...]:
    """The options of pyxis for the step that makes a root; with a preamble it runs as the step that joins does."""
    source = (f"--container-image={image(root.step, cluster)}", f"--container-name={root.container}:create")
    if not root.setup:
        return (*source, *_switches(False), "--container-workdir=/")
    return (*source, *_switches(True), _mounts(root.step), *_env(root.step, cluster), "--container-workdir=/")


def inside(step: Step, cluster: Cluster, words: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """What the container runs: the role's command (or `words`) behind preamble, GPU mask and its own variables."""
    inner = {name: seen(value) for name, value in step.env.items() if early(name)}
    given = (
        *step.env_from,
        *carried(step, cluster),
        *(name.removeprefix(PREFIX) for name in variables(step, cluster) if _second(name)),
    )
    first = ("sh", f"{RUN}/{GIVEN}", " ".join(given)) if given else ()
    return enter(step, RUN, inner, tuple(map(seen, step.words if words is None else words)), first)


def carried(step: Step, cluster: Cluster) -> tuple[str, ...]:
    """Those variables of the cluster's `inherit` that pyxis drops from a job's environment; it lets others through."""
    own = {*step.env_from, *step.env}
    wanted = (name for name in _DROPPED if any(fnmatchcase(name, pattern) for pattern in cluster.inherit))
    return tuple(name for name in wanted if name not in own)


def variables(step: Step, cluster: Cluster) -> dict[str, str]:
    """The step's variables in the environment of `srun`: those that cannot be named to pyxis by their second name."""
    version = number(cluster.versions.pyxis or "")
    nameless = bool(version) and version < _ENV_SINCE
    found = {name: seen(value) for name, value in step.env.items() if not early(name)}
    return {PREFIX + name if nameless or "\n" in value else name: value for name, value in found.items()}


def seen(text: str) -> str:
    """`text` as it is true inside the container."""
    return text.replace(ref("run"), RUN).replace(ref("python"), PYTHON)


def image(step: Step, cluster: Cluster) -> str:
    """The step's image as the cluster's runtime is told it. Raises `Refused`."""
    if step.reference is None:
        raise Refused([_unusable(f"step `{step.name}` has no image, and this cluster runs steps in containers")])
    try:
        return use(step.reference, cluster)
    except ValueError as error:
        raise Refused([_unusable(str(error))]) from error


def _unusable(message: str) -> Diagnostic:
    return Diagnostic("image-unusable", message, None, help="change the alias in the cluster's `[images]`", exit=4)


def _switches(writable: bool) -> tuple[str, ...]:
    return (*_SWITCHES, "--container-writable" if writable else "--container-readonly")


def _mounts(step: Step) -> str:
    mounts = (f"{ref('run')}:{RUN}", *map(_mount, step.mounts))
    return f"--container-mounts={','.join(mounts)}"


def _mount(mount: Mount) -> str:
    return f"{mount.source}:{mount.target}" + (":ro" if mount.read_only else "")


def _env(step: Step, cluster: Cluster) -> tuple[str, ...]:
    """The names whose values must win over the image's own; a second name needs not."""
    names = [name for name in variables(step, cluster) if not _second(name)]
    return (f"--container-env={','.join(names)}",) if names else ()


def _second(name: str) -> bool:
    return name.startswith(PREFIX)
