"""What a registry has under a reference, without pulling it: three to six small requests an image, none twice."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from launcher.execute.images.failure import Failure
from launcher.execute.images.transport import Transport
from launcher.execute.images.unanswered import host_of, limited
from launcher.images import oci
from launcher.images.oci import Config, Manifest, Platform
from launcher.images.reference import Reference
from launcher.run import files

_NO_RANGE = 416
"""The status of a server that has no such range, or will not give it."""

ACCEPT = ", ".join((*oci.INDEXES, *oci.MANIFESTS))

T = TypeVar("T")


@dataclass(frozen=True)
class Remote:
    """An image as a registry has it for one architecture. `digest` is what the reference names: often an index."""

    digest: str
    manifest: Manifest
    config: Config
    architectures: tuple[str, ...]


@dataclass
class Registry:
    """Answers are remembered for as long as the command runs; `cache` keeps documents by digest for longer."""

    transport: Transport
    cache: Path | None = None
    _once: dict[tuple[str, ...], Future[Any]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def digest(self, wanted: Reference) -> str:
        """The digest that the reference names now. Raises Failure."""
        if wanted.digest is not None:
            return wanted.digest
        return self._remembered(_tagged(wanted), lambda: self._head(wanted))

    def image(self, wanted: Reference, arch: str) -> Remote:
        """The image for nodes of `arch`. Raises Failure, of kind `platform` where there is none for them."""
        top = self.digest(wanted)
        found = self._parsed(wanted, top, oci.read)
        if isinstance(found, Manifest):
            config = self._config(wanted, found)
            return Remote(top, found, config, (config.arch,))
        platform = oci.chosen(found, arch)
        if platform is None:
            raise _other(wanted, found, arch)
        manifest = self._parsed(wanted, platform.digest, oci.read)
        if not isinstance(manifest, Manifest):
            raise Failure("faulty", f"`{_shown(wanted)}`: an entry of its index is an index again")
        known = tuple(dict.fromkeys(each.arch for each in found if each.os == "linux"))
        return Remote(top, manifest, self._config(wanted, manifest), known)

    def fit(self, wanted: Reference, arch: str) -> Remote:
        """The same; raises Failure of kind `platform` too where it is for others alone, and no index said so."""
        found = self.image(wanted, arch)
        if arch and found.config.arch != arch:
            message = f"`{_shown(wanted)}` of `{host_of(wanted)}` is for {found.config.arch}, and {arch} is wanted"
            raise Failure("platform", message, f"name one for {arch}, or correct `arch`")
        return found

    def forget(self, wanted: Reference) -> None:
        """What a tag named, or that there was none, once something was pushed there: it is asked anew."""
        with self._lock:
            self._once.pop(_tagged(wanted), None)

    @contextmanager
    def blob(self, wanted: Reference, digest: str, start: int = 0) -> Iterator[Iterator[bytes]]:
        """The bytes of a layer from `start` on, in pieces; nothing of them is checked. Raises Failure."""
        headers = {"Range": f"bytes={start}-"} if start else {}
        with self.transport.asked(wanted, "GET", f"{wanted.repository}/blobs/{digest}", headers) as answer:
            status = 200 if start and answer.status_code in (206, _NO_RANGE) else answer.status_code
            _judge(wanted, status, lambda: limited(wanted, answer), self._login(wanted))
            if not start or answer.status_code == 206:
                yield answer.iter_raw()
                return
            if answer.status_code == 200:
                yield _without(answer.iter_raw(), start)
                return
        with self.blob(wanted, digest) as pieces:
            yield _without(pieces, start)

    def documents(self, wanted: Reference, remote: Remote) -> tuple[bytes, bytes]:
        """Manifest and configuration of an image, as the registry has them. Raises Failure."""
        manifest = self._document(wanted, remote.manifest.digest, "manifests")
        return manifest, self._document(wanted, remote.manifest.config.digest, "blobs")

    def _config(self, wanted: Reference, manifest: Manifest) -> Config:
        body = self._document(wanted, manifest.config.digest, "blobs")
        return _read(wanted, body, oci.config)

    def _parsed(
        self, wanted: Reference, digest: str, read: Callable[[bytes], tuple[Platform, ...] | Manifest]
    ) -> tuple[Platform, ...] | Manifest:
        return _read(wanted, self._document(wanted, digest, "manifests"), read)

    def _head(self, wanted: Reference) -> str:
        path = f"{wanted.repository}/manifests/{wanted.tag}"
        answer = self.transport.document(wanted, "HEAD", path, ACCEPT)
        _judge(wanted, answer.status_code, lambda: limited(wanted, answer), self._login(wanted))
        found: str = answer.headers.get("docker-content-digest", "")
        if found:
            return found
        # Some registries say the digest in no header; then the document tells.
        answer = self.transport.document(wanted, "GET", path, ACCEPT)
        _judge(wanted, answer.status_code, lambda: limited(wanted, answer), self._login(wanted))
        return oci.digest(answer.body)

    def _login(self, wanted: Reference) -> Callable[[], Failure]:
        return lambda: self.transport.denied(wanted)

    def _document(self, wanted: Reference, digest: str, kind: str) -> bytes:
        """A document by its digest, which is checked. The same one in two repositories is asked for once."""
        return self._remembered((digest,), lambda: self._cached(digest) or self._fetched(wanted, digest, kind))

    def _fetched(self, wanted: Reference, digest: str, kind: str) -> bytes:
        answer = self.transport.document(wanted, "GET", f"{wanted.repository}/{kind}/{digest}", ACCEPT)
        _judge(wanted, answer.status_code, lambda: limited(wanted, answer), self._login(wanted))
        body: bytes = answer.body
        if oci.digest(body) != digest:
            message = f"`{host_of(wanted)}` sends something else than `{digest}`, which it was asked for"
            raise Failure("faulty", message, "a proxy in between, or a broken registry")
        self._keep(digest, body)
        return body

    def _cached(self, digest: str) -> bytes | None:
        if self.cache is None:
            return None
        try:
            body = (self.cache / digest.removeprefix("sha256:")).read_bytes()
        except OSError:
            return None
        return body if oci.digest(body) == digest else None

    def _keep(self, digest: str, body: bytes) -> None:
        if self.cache is None:
            return
        try:
            files.write(str(self.cache / digest.removeprefix("sha256:")), body)
        except OSError:
            self.cache = None  # it would only have saved time

    def _remembered(self, key: tuple[str, ...], make: Callable[[], T]) -> T:
        with self._lock:
            future = self._once.get(key)
            mine = future is None
            if future is None:
                future = self._once[key] = Future()
        if mine:
            try:
                future.set_result(make())
            except Failure as failure:
                future.set_exception(failure)
            finally:
                # Nobody waits for an answer that cannot come.
                future.cancel()
        found: T = future.result()
        return found


def _tagged(wanted: Reference) -> tuple[str, ...]:
    return "digest", wanted.registry, wanted.repository, str(wanted.tag)


def _judge(wanted: Reference, status: int, limited: Callable[[], Failure], denied: Callable[[], Failure]) -> None:
    if status == 200:
        return
    if status in (401, 403):
        raise denied()
    if status == 404:
        advice = "was it deleted there?" if wanted.digest else "is the tag spelt right?"
        raise Failure("absent", f"`{host_of(wanted)}` has no `{_shown(wanted)}`", advice)
    if status == 429 or status >= 500:
        raise limited()
    raise Failure("faulty", f"`{host_of(wanted)}` answers {status} for `{_shown(wanted)}`")


def _without(pieces: Iterator[bytes], start: int) -> Iterator[bytes]:
    """What a registry that knows no ranges sends, less what is there already."""
    for piece in pieces:
        yield piece[min(start, len(piece)) :]
        start -= min(start, len(piece))


def _other(wanted: Reference, found: tuple[Platform, ...], arch: str) -> Failure:
    known = ", ".join(dict.fromkeys(f"{each.os}/{each.arch}" for each in found)) or "none at all"
    return Failure("platform", f"`{_shown(wanted)}` is not there for {arch}", f"it is for {known}")


def _shown(wanted: Reference) -> str:
    return f"{wanted.repository}{wanted.version}"


def _read(wanted: Reference, body: bytes, read: Callable[[bytes], T]) -> T:
    try:
        return read(body)
    except ValueError as error:
        raise Failure("faulty", f"`{_shown(wanted)}`: {error}") from error
