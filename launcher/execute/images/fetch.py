"""Layers fetched into a folder: several at a time, going on where an earlier try ended, checked to the byte."""

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from launcher.execute.images.failure import Failure
from launcher.execute.images.registry import Registry
from launcher.images.oci import Layer
from launcher.images.reference import Reference

AT_ONCE = 4
TRIES = 5
_PIECE = 1 << 20


@dataclass
class Fetched:
    """Layers on their way into `folder`. `open` waits for one; `told` hears how many bytes have come."""

    registry: Registry
    wanted: Reference
    folder: Path
    told: Callable[[int], None] = lambda size: None
    _futures: dict[str, Future[Path]] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(max_workers=AT_ONCE))

    def begin(self, layers: Sequence[Layer]) -> None:
        """Starts to fetch, in this order."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for layer in layers:
            if layer.digest not in self._futures:
                self._futures[layer.digest] = self._pool.submit(self._layer, layer)

    @contextlib.contextmanager
    def open(self, layer: Layer) -> Iterator[Iterator[bytes]]:
        """The layer in pieces, once all of it is here. Raises Failure and OSError."""
        path = self._futures[layer.digest].result()
        with path.open("rb") as content:
            yield iter(lambda: content.read(_PIECE), b"")

    def wait(self) -> None:
        """Until all layers are here. Raises Failure and OSError."""
        for future in self._futures.values():
            future.result()

    def close(self) -> None:
        """Ends what is under way; what has come stays for the next try."""
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _layer(self, layer: Layer) -> Path:
        path = self.folder / layer.digest.removeprefix("sha256:")
        part = path.with_name(f"{path.name}.part")
        if path.exists():
            # Of an earlier try: never made durable, so that it counts as any other beginning.
            path.replace(part)
        for turn in range(TRIES):
            try:
                self._some(layer, part)
                break
            except Failure as failure:
                if failure.kind != "unreachable" or turn == TRIES - 1 or self._stop.is_set():
                    raise
                self.registry.transport.world.pause(self.registry.transport.limits.pause * 2**turn)
        part.rename(path)
        return path

    def _some(self, layer: Layer, part: Path) -> None:
        """All that is still missing of the layer. Raises Failure; what has come stays, to go on from."""
        with part.open("ab+") as content:
            made, size = _begun(content.fileno())
            if size > layer.size:
                made, size = hashlib.sha256(), 0
                content.truncate(0)
            kept = size
            self.told(size)
            if size < layer.size or layer.size == 0:
                size = self._rest(layer, size, content, made)
        if size < layer.size:
            raise Failure(
                "unreachable", f"`{self.wanted.registry}` breaks a layer off after {size} of {layer.size} bytes"
            )
        if f"sha256:{made.hexdigest()}" == layer.digest:
            return
        part.unlink()
        if kept == 0:
            message = f"`{self.wanted.registry}` sends something else than the layer `{layer.digest}`"
            raise Failure("faulty", message, "a proxy in between, or a broken registry")
        # What an earlier try left need not have reached the disk.
        self.told(-size)
        self._some(layer, part)

    def _rest(self, layer: Layer, size: int, content: IO[bytes], made: "hashlib._Hash") -> int:
        """Appends what is behind the first `size` bytes of the layer; how many bytes there are then. Raises Failure."""
        with self.registry.blob(self.wanted, layer.digest, size) as pieces:
            for piece in pieces:
                if self._stop.is_set():
                    raise Failure("unreachable", "it was interrupted")
                content.write(piece)
                made.update(piece)
                size += len(piece)
                self.told(len(piece))
                if size > layer.size:
                    break
        return size


def _begun(handle: int) -> tuple["hashlib._Hash", int]:
    made, size = hashlib.sha256(), 0
    while piece := os.pread(handle, _PIECE, size):
        made.update(piece)
        size += len(piece)
    return made, size
