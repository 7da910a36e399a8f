"""What was locked of an image, held against what it is now, and against the runtime that is to start it."""

from dataclasses import replace

from launcher.images.reference import Reference, number, parse
from launcher.model.cluster import Cluster
from launcher.model.facts import Image
from launcher.model.lock import LockedImage

_ENROOT_SINCE = (4,)


def moved(was: LockedImage, now: Image) -> str | None:
    """What an image is now that it was not when it was locked, as a phrase; None where it is the same.

    Of a file size and time are compared: nobody hashes gigabytes for each run.
    """
    if was.digest is not None:
        return None if now.digest == was.digest else f"names {now.digest} now, and {was.digest} was locked"
    if now.size != was.size:
        return f"has {now.size} bytes now, and {was.size} were locked"
    if was.mtime is not None and now.mtime != was.mtime:
        return "has been written anew since it was locked"
    return None


def pinned(was: LockedImage, cluster: Cluster) -> str:
    """The locked reference with its digest, where this cluster's runtime takes one; else as it was written."""
    if was.manifest is None:
        return was.reference
    enroot = number(cluster.versions.enroot or "")
    if cluster.runtime == "pyxis" and enroot < _ENROOT_SINCE:
        return was.reference
    try:
        source = parse(was.reference)
    except ValueError:
        return was.reference
    return str(replace(source, digest=was.manifest)) if isinstance(source, Reference) else was.reference
