"""Layers as streams: decompressed as they come, never whole in memory.

Runs on compute nodes too, by Python 3.9 and without the package `zstandard`: the program `zstd` takes its place.
"""

from __future__ import annotations

import contextlib
import io
import queue
import subprocess
import tarfile
import threading
import zlib
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from launcher.execute.images.failure import Failure
from launcher.images.oci import Compression

PIECE = 1 << 18
"""Bytes that are handed on at once."""


class Stream(io.RawIOBase):
    """Pieces of bytes as a file that is read once. `most` bytes are given at most: more is a bomb."""

    def __init__(self, pieces: Iterable[bytes], most: int | None = None) -> None:
        super().__init__()
        self._pieces = iter(pieces)
        self._rest = memoryview(b"")
        self._left = most

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """As `io.RawIOBase` wants it; 0 at the end."""
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        if self._left is not None:
            self._left -= size
            if self._left < 0:
                raise Failure("faulty", "a layer unpacks to more than any image has: it is a bomb, or broken")
        return size

    def close(self) -> None:
        """Ends what makes the pieces."""
        _end(self._pieces)
        super().close()


class Archive(tarfile.TarFile):
    """A layer as an archive. Once it is closed, nobody reads what it was made of: that may be closed too."""

    stream: io.BufferedIOBase | None = None

    def close(self) -> None:
        """Closes its stream too, which tarfile leaves open."""
        super().close()
        if self.stream is not None:
            self.stream.close()


def unpacked(pieces: Iterable[bytes], compression: Compression) -> Iterator[bytes]:
    """The tar archive of a layer. Raises Failure for one that is cut short or no such archive."""
    try:
        yield from _UNPACK[compression](pieces)
    except zlib.error as error:
        raise Failure("faulty", f"a layer is no {compression} archive, or a broken one: {error}") from error


def archive(pieces: Iterable[bytes], compression: Compression, most: int | None = None) -> Archive:
    """A layer to go through once. Closing it is the caller's affair."""
    stream = io.BufferedReader(Stream(ahead(unpacked(pieces, compression)), most), PIECE)
    try:
        opened = Archive.open(fileobj=stream, mode="r|", bufsize=PIECE, errorlevel=1)
        opened.stream = stream
        return opened
    except tarfile.TarError as error:
        stream.close()
        raise Failure("faulty", f"a layer is no tar archive: {error}") from error


def ahead(pieces: Iterator[bytes], most: int = 32) -> Iterator[bytes]:
    """The same pieces, made by a thread that is up to `most` of them ahead; what it raises is raised here."""
    line: queue.Queue[bytes | BaseException | None] = queue.Queue(most)
    left = threading.Event()

    def put(item: bytes | BaseException | None) -> bool:
        while not left.is_set():
            with contextlib.suppress(queue.Full):
                line.put(item, timeout=0.1)
                return True
        return False

    def make() -> None:
        try:
            if all(put(piece) for piece in pieces):
                put(None)
        except (Failure, OSError) as error:
            put(error)
        finally:
            _end(pieces)

    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    try:
        while (item := line.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        left.set()
        thread.join()


def _end(pieces: object) -> None:
    close = getattr(pieces, "close", None)
    if close is not None:
        close()


def forget(archive: tarfile.TarFile) -> None:
    """Drops the members that tarfile keeps of all it has gone through: an image has a hundred thousand."""
    vars(archive)["members"].clear()


def _plain(pieces: Iterable[bytes]) -> Iterator[bytes]:
    yield from pieces


def _gzip(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """All members of it, one after another, as gzip does."""
    member = zlib.decompressobj(31)
    began = False
    for piece in pieces:
        data = piece
        while data:
            if member.eof:
                if not data.strip(b"\0"):
                    break  # padding at the end of an archive
                member = zlib.decompressobj(31)
            began = True
            yield member.decompress(data, PIECE)
            data = member.unused_data if member.eof else member.unconsumed_tail
    if began and not member.eof:
        yield member.flush()
        if not member.eof:
            raise zlib.error("it is cut short")


def _zstd(pieces: Iterable[bytes]) -> Iterator[bytes]:
    if find_spec("zstandard") is None:
        yield from program(pieces)
        return
    library: Any = import_module("zstandard")
    source = io.BufferedReader(Stream(pieces), PIECE)
    try:
        with library.ZstdDecompressor().stream_reader(source, read_size=PIECE, read_across_frames=True) as reader:
            while piece := reader.read(PIECE):
                yield piece
    except library.ZstdError as error:
        raise zlib.error(str(error)) from error


def program(pieces: Iterable[bytes], name: str = "zstd") -> Iterator[bytes]:
    """The same by a program. Raises Failure where there is none, zlib.error where it fails."""
    try:
        pipe = subprocess.PIPE
        running = subprocess.Popen([name, "-dcq"], stdin=pipe, stdout=pipe, stderr=pipe)
    except OSError:
        advice = f"install it, or the Python package `{name}andard`"
        raise Failure("faulty", f"the image has layers of {name}, and there is no program `{name}`", advice) from None
    with running, contextlib.ExitStack() as stack:
        feeder = threading.Thread(target=_fed, args=(running.stdin, pieces), daemon=True)
        feeder.start()
        stack.callback(feeder.join)
        stack.callback(running.kill)
        output: Any = running.stdout
        while piece := output.read(PIECE):
            yield piece
        feeder.join()
        said: Any = running.stderr
        if running.wait() != 0:
            raise zlib.error(said.read(400).decode("utf-8", "replace").strip())


def _fed(stdin: Any, pieces: Iterable[bytes]) -> None:
    # A program that has ended says itself why.
    with contextlib.suppress(BrokenPipeError), stdin:
        for piece in pieces:
            stdin.write(piece)


_UNPACK = {"gzip": _gzip, "zstd": _zstd, "none": _plain}
