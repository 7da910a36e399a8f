"""What an image reference comes to on a cluster: the words of its runtime, and who is asked for it."""

from launcher.images import reference, sif
from launcher.images.reference import Daemon, File, Reference
from launcher.images.use import use
from launcher.model.cluster import Cluster
from launcher.run.record import record


@record
class Meaning:
    """`kind` is what people call it; `words` what pyxis and Apptainer are given, a phrase in the place of the word
    where one of them cannot take it; `registry` the host that is asked; `fault` why the cluster cannot use it.
    """

    written: str
    kind: str
    words: tuple[tuple[str, str], ...]
    registry: str | None = None
    fault: str | None = None


def meaning(text: str, cluster: Cluster) -> Meaning:
    """What `text` means on `cluster`; a text that is no reference has a `fault` alone."""
    try:
        source = reference.parse(text)
    except ValueError as error:
        return Meaning(text, "no reference", (), fault=str(error))
    wrong = reference.fault(source, cluster.versions.enroot), sif.fault(source)
    words = (
        ("pyxis", wrong[0] or reference.pyxis(source)),
        ("apptainer", wrong[1] or sif.apptainer(source)),
    )
    asked = reference.address(source.registry) if isinstance(source, Reference) else None
    return Meaning(str(source), _kind(source), words, asked, _fault(text, cluster))


def _fault(text: str, cluster: Cluster) -> str | None:
    if cluster.runtime == "none":
        return None
    try:
        use(text, cluster)
    except ValueError as error:
        return str(error)
    return None


def _kind(source: reference.Source) -> str:
    if isinstance(source, Daemon):
        return f"image of {'Docker' if source.scheme == 'dockerd' else 'Podman'} on the nodes"
    if isinstance(source, File):
        if source.path.endswith(reference.SQUASHFS):
            return "squashfs file"
        return "SIF file" if source.path.endswith(reference.SIF) else "path"
    return "registry"
