"""An image as the container runtime of a cluster is told it."""

from launcher.images import reference, sif
from launcher.model.cluster import Cluster


def use(text: str, cluster: Cluster) -> str:
    """The word for the image reference `text` on `cluster`, which starts containers.

    Raises ValueError with a lower-case phrase for what is no reference, or none that this cluster can start.
    """
    source = reference.parse(text)
    apptainer = cluster.runtime == "apptainer"
    wrong = sif.fault(source) if apptainer else reference.fault(source, cluster.versions.enroot)
    if wrong is not None:
        raise ValueError(wrong)
    return sif.apptainer(source) if apptainer else reference.pyxis(source)
