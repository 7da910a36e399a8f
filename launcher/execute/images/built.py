"""An image that lies here in full: manifest, configuration and layers in the folder of an OCI layout."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from launcher.execute.images.failure import Failure
from launcher.execute.images.registry import Remote
from launcher.execute.images.sif import BLOBS
from launcher.images import oci
from launcher.images.oci import Layer, Manifest
from launcher.run import files

_PIECE = 1 << 20


@dataclass(frozen=True)
class Built:
    """`layout` has the blobs; `documents` are manifest and configuration, `remote` what they say."""

    layout: Path
    documents: tuple[bytes, bytes]
    remote: Remote

    @classmethod
    def of(cls, layout: Path, manifest: bytes, config: bytes) -> "Built":
        """The image of these documents, whose layers are in `layout`. Raises Failure for what is none."""
        try:
            found, said = oci.read(manifest), oci.config(config)
        except ValueError as error:
            raise Failure("faulty", f"what was built is no image: {error}") from error
        if not isinstance(found, Manifest):
            raise Failure("faulty", "what was built is an index of several images")
        made = cls(layout, (manifest, config), Remote(found.digest, found, said, (said.arch,)))
        for body in made.documents:
            files.write(str(made.blob(oci.digest(body))), body)
        return made

    def blob(self, digest: str) -> Path:
        """Where the blob of that digest is."""
        return self.layout / BLOBS / digest.removeprefix("sha256:")

    @contextmanager
    def open(self, layer: Layer) -> Iterator[Iterator[bytes]]:
        """A layer as it is stored, in pieces."""
        with self.blob(layer.digest).open("rb") as content:
            yield iter(lambda: content.read(_PIECE), b"")
