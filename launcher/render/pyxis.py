"""Containers by pyxis and enroot: the `--container-*` words of a step and what runs inside.

Facts: pyxis 0.20 and 0.24. Of two `--container-mounts` or two `--container-env` only the last counts, so each is one
joined option. Switches are written out, their opposites too: an inherited PYXIS_CONTAINER_* would decide otherwise.
A root is read-only, except that a step with a preamble has one of its own to write in. The run directory is
`/launch` in every container.

Each step unpacks its image. A step that prepares one root for the read-only steps of a node (`--container-name`, pyxis
0.14 and later), and the janitor that must remove it, are not here yet; the words are right without them.
"""

from collections.abc import Mapping

from launcher.images.reference import fault, number, parse, pyxis
from launcher.model.cluster import Cluster
from launcher.plan.step import Mount, Step
from launcher.render.srun import env
from launcher.run.script import ref
from launcher.text.diagnostic import Diagnostic, Refused

RUN = "/launch"
"""The run directory in the container."""

PYTHON = "python3"
"""`{python}` in a container: the image's own."""

CODES: Mapping[str, str] = {
    "image-unusable": """An image cannot be named to this cluster's pyxis and enroot

Where steps run in containers every role needs an image: an alias of the cluster's `[images]` that stands for
a registry reference, a file (`/path/to/image.sqsh`) or an image of a daemon (`dockerd://name`). enroot
before 4.0 takes no digests.""",
}
"""Code → what `launch explain CODE` prints; the first line is its summary."""

_ENV_SINCE = (0, 15)


def container(step: Step, cluster: Cluster) -> tuple[str, ...]:
    """The options of pyxis for the step. Raises `Refused` for an image that this cluster's enroot cannot import."""
    mounts = (f"{ref('run')}:{RUN}", *map(_mount, step.mounts))
    return (
        f"--container-image={_image(step, cluster)}",
        "--no-container-mount-home",
        "--no-container-entrypoint",
        "--no-container-remap-root",
        "--container-readonly" if step.setup is None else "--container-writable",
        f"--container-mounts={','.join(mounts)}",
        *_env(step, cluster),
        "--container-workdir=/",
    )


def inside(step: Step) -> tuple[str, ...]:
    """What the container runs: the preamble by `sh`, which every image has, then the GPU mask, then the command."""
    words = (*env(step), *map(seen, step.words))
    return words if step.setup is None else ("sh", f"{RUN}/{step.setup}", *words)


def seen(text: str) -> str:
    """`text` as it is true inside the container."""
    return text.replace(ref("run"), RUN).replace(ref("python"), PYTHON)


def _image(step: Step, cluster: Cluster) -> str:
    if step.reference is None:
        raise Refused([_unusable(f"step `{step.name}` has no image, and this cluster runs steps in containers")])
    try:
        source = parse(step.reference)
    except ValueError as error:
        raise Refused([_unusable(str(error))]) from error
    wrong = fault(source, cluster.versions.enroot)
    if wrong is not None:
        raise Refused([_unusable(wrong)])
    return pyxis(source)


def _unusable(message: str) -> Diagnostic:
    return Diagnostic("image-unusable", message, None, help="change the alias in the cluster's `[images]`", exit=4)


def _mount(mount: Mount) -> str:
    return f"{mount.source}:{mount.target}" + (":ro" if mount.read_only else "")


def _env(step: Step, cluster: Cluster) -> tuple[str, ...]:
    """The names whose values must win over the image's own.

    Only one-line values: later lines of a named value would become variables of the container. The values of
    `env_from` are not known here, so they go unnamed; they arrive exact unless the image sets the same name.
    """
    names = [name for name, value in step.env.items() if "\n" not in value]
    version = number(cluster.versions.pyxis or "")
    if not names or (version and version < _ENV_SINCE):
        return ()
    return (f"--container-env={','.join(names)}",)
