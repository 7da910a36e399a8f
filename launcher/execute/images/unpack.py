"""Layers as streams: decompressed as they come, never whole in memory.

Runs on compute nodes too, by Python 3.9 and without our packages: `zlib` takes the place of `isal`, which needs half
its time, and the program `zstd` that of `zstandard`.
"""

from __future__ import annotations

import contextlib
import io
import queue
import subprocess
import tarfile
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import IO, Any, cast

from launcher.execute.images.failure import Failure
from launcher.images.oci import Compression

PIECE = 1 << 19
"""Bytes that are handed on at once."""

_GZIP = 31
"""`wbits` of a member of a gzip file with its header and its checksum."""


class Stream:
    """Pieces of bytes as `tarfile` wants a file, read once and only forwards. At most `most` bytes: more is a bomb."""

    def __init__(self, pieces: Iterable[bytes], most: int | None = None) -> None:
        self._pieces = iter(pieces)
        self._rest = memoryview(b"")
        self._at = 0
        self._most = most

    def read(self, size: int) -> bytes:
        """The next bytes; fewer at the end."""
        if size <= len(self._rest):
            self._at += size
            found, self._rest = self._rest[:size], self._rest[size:]
            return bytes(found)
        return b"".join(self.pieces(size))

    def pieces(self, size: int) -> Iterator[memoryview]:
        """The same without copying them."""
        while size and self._more():
            found, self._rest = self._rest[:size], self._rest[size:]
            self._at += len(found)
            size -= len(found)
            yield found

    def _more(self) -> bool:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return False
            if self._most is not None and self._at + len(piece) > self._most:
                raise Failure("faulty", "a layer unpacks to more than any image has: it is a bomb, or broken")
            self._rest = memoryview(piece)
        return True

    def tell(self) -> int:
        """How many bytes have been read."""
        return self._at

    def seek(self, position: int) -> int:
        """Passes over what is before a position. Raises io.UnsupportedOperation for one that has been passed."""
        if position < self._at:
            raise io.UnsupportedOperation("a layer is read forwards")
        for _ in self.pieces(position - self._at):
            pass
        return self._at

    def close(self) -> None:
        """Ends what makes the pieces."""
        _end(self._pieces)


class Archive(tarfile.TarFile):
    """A layer as an archive. Once it is closed, nobody reads what it was made of: that may be closed too."""

    stream: Stream

    def close(self) -> None:
        """Closes its stream too, which tarfile leaves open."""
        super().close()
        self.stream.close()

    def content(self, info: tarfile.TarInfo) -> Iterator[memoryview | bytes]:
        """What is in the file at hand, in pieces; less of it where the archive ends inside."""
        if info.sparse is None:
            self.stream.seek(info.offset_data)
            yield from self.stream.pieces(info.size)
            return
        file = self.extractfile(info)
        while file is not None and (piece := file.read(PIECE)):
            yield piece


def unpacked(pieces: Iterable[bytes], compression: Compression) -> Iterator[bytes]:
    """The tar archive of a layer. Raises Failure for one that is cut short or no such archive."""
    try:
        yield from _UNPACK[compression](pieces)
    except zlib.error as error:
        raise Failure("faulty", f"a layer is no {compression} archive, or a broken one: {error}") from error


def archive(pieces: Iterable[bytes], compression: Compression, most: int | None = None) -> Archive:
    """A layer to go through once. Closing it is the caller's affair. Pieces that can be left (`leave`) are."""
    leave: Callable[[], None] = getattr(pieces, "leave", lambda: None)
    stream = Stream(ahead(unpacked(pieces, compression), leave), most)
    try:
        opened = Archive(fileobj=cast("IO[bytes]", stream), errorlevel=1)
        opened.stream = stream
        return opened
    except tarfile.TarError as error:
        stream.close()
        raise Failure("faulty", f"a layer is no tar archive: {error}") from error


def ahead(pieces: Iterator[bytes], leave: Callable[[], None], most: int = 16) -> Iterator[bytes]:
    """The same pieces, made by a thread that is up to `most` of them ahead; what it raises is raised here.

    `leave` ends its waiting for a piece, where nobody wants one any more.
    """
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
        leave()
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
    yield from gunzip(pieces, import_module("isal.isal_zlib" if find_spec("isal") else "zlib"))


def gunzip(pieces: Iterable[bytes], library: Any) -> Iterator[bytes]:
    """All members of it, one after another, as gzip does, by a module that is like `zlib`. Raises zlib.error."""
    try:
        yield from _members(pieces, lambda: library.decompressobj(_GZIP))
    except library.error as error:
        raise zlib.error(str(error)) from error


def _members(pieces: Iterable[bytes], begin: Callable[[], Any]) -> Iterator[bytes]:
    member = begin()
    began = False
    for piece in pieces:
        data = piece
        while data:
            if member.eof:
                if not data.strip(b"\0"):
                    break  # padding at the end of an archive
                member = begin()
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
    source = Stream(pieces)
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
