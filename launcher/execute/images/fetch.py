"""Layers fetched into a folder: several at a time, going on where an earlier try ended, checked to the byte."""

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent import futures
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
_LOOK = 0.02
"""Seconds between two looks at a layer that is still coming."""


@dataclass
class Coming:
    """The pieces of a file that grows until `whole` is done. Raises what that has come to."""

    content: IO[bytes]
    whole: Future[Path]
    _left: threading.Event = field(default_factory=threading.Event)

    def __iter__(self) -> Iterator[bytes]:
        while not self._left.is_set():
            ended = self.whole.done()
            while piece := self.content.read(_PIECE):
                yield piece
            if ended:
                self.whole.result()
                return
            futures.wait([self.whole], _LOOK)

    def leave(self) -> None:
        """Nobody wants the rest: who waits for a piece finds that there is none."""
        self._left.set()


@dataclass
class Fetched:
    """Layers on their way into `folder`. `open` waits for one; `told` hears how many bytes have come."""

    registry: Registry
    wanted: Reference
    folder: Path
    told: Callable[[int], None] = lambda size: None
    _futures: dict[str, Future[Path]] = field(default_factory=dict)
    _left: set[str] = field(default_factory=set)
    """Layers of which an earlier try left something: it need not have reached the disk."""

    _opened: list[Future[Path]] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(max_workers=AT_ONCE))

    def begin(self, layers: Sequence[Layer]) -> None:
        """Starts to fetch, in this order."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for layer in layers:
            if layer.digest not in self._futures:
                if self._path(layer).exists() or self._part(layer).exists():
                    self._left.add(layer.digest)
                self._futures[layer.digest] = self._pool.submit(self._layer, layer)

    @contextlib.contextmanager
    def open(self, layer: Layer) -> Iterator[Iterable[bytes]]:
        """The layer in pieces, as they come. The last of them, or the end, raises Failure and OSError.

        What an earlier try left may have to be fetched anew: such a layer is given once all of it is here.
        """
        future = self._futures[layer.digest]
        self._opened.append(future)
        if layer.digest in self._left:
            future.result()
        while not (self._part(layer).exists() or future.done()):
            futures.wait([future], _LOOK)
        try:
            content = self._part(layer).open("rb", buffering=0)
        except FileNotFoundError:
            content = future.result().open("rb", buffering=0)
        with content:
            yield Coming(content, future)

    def wait(self) -> None:
        """Until all layers are here. Raises Failure and OSError."""
        for future in self._futures.values():
            future.result()

    def judge(self) -> None:
        """Until the layers that have been opened are here. Raises Failure for one that is not what was asked for."""
        for future in self._opened:
            future.result()

    def close(self) -> None:
        """Ends what is under way; what has come stays for the next try."""
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _path(self, layer: Layer) -> Path:
        return self.folder / layer.digest.removeprefix("sha256:")

    def _part(self, layer: Layer) -> Path:
        return self.folder / f"{self._path(layer).name}.part"

    def _layer(self, layer: Layer) -> Path:
        path, part = self._path(layer), self._part(layer)
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
        if layer.digest not in self._left:
            message = f"`{self.wanted.registry}` sends something else than the layer `{layer.digest}`"
            raise Failure("faulty", message, "a proxy in between, or a broken registry")
        self._left.remove(layer.digest)
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
