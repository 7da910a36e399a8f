"""The cluster of a link: its files overlaid by name, and what they mean."""

from collections.abc import Mapping, Sequence

from launcher.model.cluster import Cluster
from launcher.model.job import Origin, Origins
from launcher.model.linking import Linking, commanded, placed, text
from launcher.model.merge import Layer, merge
from launcher.model.shape import read
from launcher.run.record import record
from launcher.text.advice import option
from launcher.text.diagnostic import Place, Refused
from launcher.text.document import Document

LAYER = "cluster"


@record
class Site:
    """The cluster, its documents lowest first, and where its keys were written. `asked` is its name or file, as it was
    asked for.
    """

    cluster: Cluster
    documents: tuple[Document, ...]
    origins: Origins
    asked: str = ""

    @property
    def containers(self) -> bool:
        """Whether roles run in images."""
        return self.cluster.runtime != "none"

    @property
    def option(self) -> str:
        """By which a command means this cluster."""
        return option("cluster", self.asked or self.cluster.name)

    def layers(self, *keys: str) -> list[Layer]:
        """What the cluster lays under every role, of these keys."""
        found = [
            Layer(LAYER, document, {key: document.data[key] for key in keys if key in document.data})
            for document in self.documents
        ]
        return [layer for layer in found if layer.data]


def site(linking: Linking, name: str, named: Place | None = None) -> Site | None:
    """The cluster of that name or file, or None and findings; `named` is where a file names it."""
    try:
        documents = tuple(linking.library.cluster(name))
    except Refused as refused:
        linking.findings.extend(placed(finding, named) for finding in refused.diagnostics)
        return None
    if not documents:
        help_ = linking.known(name, linking.library.clusters(), "clusters")
        linking.refuse("unknown-cluster", f"no cluster is named `{name}`", named, help_, command=commanded(named))
        return None
    before = len(linking.findings)
    clusters = [linking.read(Cluster, document) for document in documents]
    _names(linking, name, documents)
    merged = merge(Layer(LAYER, document, document.data) for document in documents)
    origins = Origins(_below_root(merged.chains()), documents[-1])
    cluster = clusters[0]
    if len(documents) > 1:
        cluster, faults = read(Cluster, merged.data(), origins.place, linking.suggestions)
        linking.findings.extend(faults)
    if cluster is None or len(linking.findings) > before:
        return None
    return Site(cluster, documents, origins, name)


def _names(linking: Linking, name: str, documents: Sequence[Document]) -> None:
    """Every file of a cluster has its name inside."""
    path = "/" in name or name.endswith(".toml")
    wanted = text(documents[-1].data, "name") if path else name
    for document in documents:
        found = text(document.data, "name")
        if found is not None and wanted is not None and found != wanted:
            place = Place(document, ("name",))
            message = f"the cluster `{wanted}` calls itself `{found}` here"
            linking.refuse("name-mismatch", message, place, f'write `name = "{wanted}"`, or rename the file')


def _below_root(
    chains: Mapping[tuple[str | int, ...], tuple[Origin, ...]],
) -> Mapping[tuple[str | int, ...], tuple[Origin, ...]]:
    return {path: chain for path, chain in chains.items() if path}
