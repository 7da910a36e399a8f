"""Images given to a registry by ourselves: blobs that it has not, then the manifest, then its names."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from launcher.execute.images.built import Built
from launcher.execute.images.failure import Failure
from launcher.execute.images.logins import Logins
from launcher.execute.images.transport import Answer, Limits, Transport
from launcher.execute.images.unanswered import host_of, limited
from launcher.execute.told import Told, unheard
from launcher.execute.world import World
from launcher.images import oci
from launcher.images.reference import Reference

_PIECE = 1 << 20
_PATIENT = Limits(read=300.0, whole=600.0)
"""A registry answers once it has stored what it was given."""


@dataclass
class Push:
    """Pushes; `told` hears how far it is."""

    transport: Transport
    told: Told = unheard

    @classmethod
    def made(cls, world: World, plain: frozenset[str], told: Told) -> "Push":
        """One with a client of its own: its tokens are for writing."""
        return cls(Transport(world, Logins(world.environ), plain, _PATIENT, "pull,push"), told)

    def image(self, goal: Reference, built: Built) -> str:
        """Gives the image to the registry, by its digest alone; returns that. Raises Failure and OSError."""
        manifest = built.remote.manifest
        for digest in (*(layer.digest for layer in manifest.layers), manifest.config.digest):
            self._blob(goal, digest, built.blob(digest))
        return self.document(goal, built.documents[0], built.remote.digest)

    def document(self, goal: Reference, body: bytes, name: str) -> str:
        """A manifest or index under a tag or its digest; returns its digest. Raises Failure."""
        kind = oci.kind(body)
        path = f"{goal.repository}/manifests/{name}"
        answer = self.transport.given(goal, "PUT", path, {"Content-Type": kind}, lambda: body)
        self._judge(goal, answer, (200, 201, 202))
        return oci.digest(body)

    def _blob(self, goal: Reference, digest: str, path: Path) -> None:
        there = self.transport.given(goal, "HEAD", f"{goal.repository}/blobs/{digest}", {})
        if there.status_code == 200:
            return
        size = path.stat().st_size
        self.told(f"pushing {digest[:19]}, {size >> 20} MiB")
        begun = self.transport.given(goal, "POST", f"{goal.repository}/blobs/uploads/", {"Content-Length": "0"})
        self._judge(goal, begun, (202,))
        where = begun.headers.get("location", "")
        if not where:
            raise Failure("faulty", f"`{host_of(goal)}` does not say where a layer is to be put")
        url = f"{where}{'&' if '?' in where else '?'}digest={digest}"
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
        self._judge(goal, self.transport.given(goal, "PUT", url, headers, lambda: _pieces(path)), (201, 204))

    def _judge(self, goal: Reference, answer: Answer, fine: tuple[int, ...]) -> None:
        if answer.status_code in fine:
            return
        if answer.status_code in (401, 403):
            shown = self.transport.denied(goal)
            raise Failure("denied", f"{shown.message}, or is not to be written by you", shown.advice)
        if answer.status_code == 429 or answer.status_code >= 500:
            raise limited(goal, answer)
        said = answer.body[:300].decode("utf-8", "replace").strip()
        message = f"`{host_of(goal)}` answers {answer.status_code} when `{goal.repository}` is pushed"
        raise Failure("faulty", f"{message}: {said}" if said else message)

    def close(self) -> None:
        """Closes all connections."""
        self.transport.close()


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as content:
        while piece := content.read(_PIECE):
            yield piece
