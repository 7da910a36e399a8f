"""How Apptainer is told an image: a `.sif` file, or a registry's.

Facts, of Apptainer 1.4.5: an image of a registry has its scheme (`docker://`) and is converted by every node that
has not cached it; a reference with a tag and a digest is refused, so the digest alone is said.
"""

from launcher.images.reference import SQUASHFS, Daemon, File, Source, astray

SQUASHING = "APPTAINER_MKSQUASHFS_ARGS"
"""The variable that has options of `mksquashfs`. It came with 1.4.0: earlier versions pack by gzip all the same, and
would refuse the option.
"""


def fault(source: Source) -> str | None:
    """Why Apptainer cannot start the image; None where it can."""
    if isinstance(source, File):
        return astray(source, SQUASHFS, "an image of enroot, and Apptainer wants a `.sif` file")
    if isinstance(source, Daemon):
        return None if source.scheme == "dockerd" else "Apptainer knows no images of Podman's store"
    if source.user:
        return "Apptainer takes no user in a reference: `apptainer registry login`, or APPTAINER_DOCKER_USERNAME"
    return None


def apptainer(source: Source) -> str:
    """The image as a word of `apptainer exec`, for what `fault` does not rule out."""
    if isinstance(source, File):
        return source.path
    if isinstance(source, Daemon):
        return f"docker-daemon:{source.name}" if ":" in source.name else f"docker-daemon:{source.name}:latest"
    version = f"@{source.digest}" if source.digest else f":{source.tag}"
    return f"docker://{source.registry}/{source.repository}{version}"
