"""Layers that are left before their end, as Ctrl-C leaves them: nobody reads what they come from any more."""

import errno
import gzip
import io
import os
import subprocess
import tarfile
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest
from isal import isal_zlib

from launcher.execute.images import unpack
from launcher.execute.images.failure import Failure
from launcher.execute.images.flatten import members
from launcher.execute.images.squash import Durable
from launcher.images.oci import Compression, Layer

PACKED: Mapping[Compression, Callable[[bytes], bytes]] = {
    "none": lambda data: data,
    "gzip": lambda data: gzip.compress(data, 1),
    "zstd": lambda data: subprocess.run(["zstd", "-qc"], input=data, capture_output=True, check=True).stdout,
}


@dataclass
class Watched:
    """A layer in pieces; `left` are the threads that there are when it is closed."""

    data: bytes
    left: list[int] = field(default_factory=list)

    @contextmanager
    def open(self, layer: Layer) -> Iterator[Iterator[bytes]]:
        """The pieces, more than are read ahead."""
        content = io.BytesIO(self.data)
        try:
            yield iter(lambda: content.read(1 << 16), b"")
        finally:
            self.left.append(threading.active_count())
            content.close()


def layer() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in ("a", "b"):
            info = tarfile.TarInfo(name)
            info.size = 12 << 20
            archive.addfile(info, io.BytesIO(os.urandom(info.size)))
    return out.getvalue()


@pytest.mark.parametrize("compression", PACKED)
def test_who_reads_a_layer_has_ended_before_it_is_closed(compression: Compression) -> None:
    before, source = threading.active_count(), Watched(PACKED[compression](layer()))
    under_way = members(source, Layer("", 0, compression), 1 << 30)
    assert next(under_way).info.name == "a"
    with pytest.raises(KeyboardInterrupt):
        under_way.throw(KeyboardInterrupt())  # type: ignore[attr-defined]
    assert source.left == [before]


def test_the_program_that_unpacks_too() -> None:
    """As on a node without the library."""
    before, content = threading.active_count(), io.BytesIO(PACKED["zstd"](layer()))
    pieces = unpack.program(iter(lambda: content.read(1 << 16), b""))
    assert next(pieces)
    pieces.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def pieces(data: bytes, size: int = 1000) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def test_a_stream_is_read_forwards() -> None:
    stream = unpack.Stream(pieces(bytes(range(250)) * 10))
    assert stream.read(3) == b"\0\1\2"
    assert stream.seek(1502) == stream.tell() == 1502
    assert stream.read(2) == b"\2\3"
    with pytest.raises(io.UnsupportedOperation):
        stream.seek(1503)
    assert [len(piece) for piece in stream.pieces(5000)] == [496, 500]
    assert (stream.read(1), stream.tell()) == (b"", 2500)


def test_a_stream_that_does_not_end() -> None:
    stream = unpack.Stream(iter(lambda: b"x" * 1000, b""), most=5500)
    assert len(stream.read(5000)) == 5000
    with pytest.raises(Failure, match="it is a bomb, or broken"):
        stream.read(1)


TEXT = os.urandom(1000) * 3000
WHOLE = gzip.compress(TEXT)
BROKEN = {
    "cut": (WHOLE[:-20], "it is cut short"),
    "cut in its checksum": (WHOLE[:-3], "it is cut short"),
    "other bytes": (WHOLE[:5000] + b"\xff" * 500 + WHOLE[5500:], ""),
    "other checksum": (WHOLE[:-8] + b"\0\0\0\0" + WHOLE[-4:], "check"),
    "no gzip": (b"PK" * 500, ""),
}


@pytest.fixture(params=[isal_zlib, zlib], ids=["isal", "zlib"])
def library(request: pytest.FixtureRequest) -> ModuleType:
    """The quick one, and what is there without it."""
    found: ModuleType = request.param
    return found


@pytest.mark.parametrize("size", [1, 777, 1 << 20])
def test_members_of_gzip_one_after_another(library: ModuleType, size: int) -> None:
    whole = WHOLE + gzip.compress(b"and more") + gzip.compress(b"") + b"\0" * 3000
    assert b"".join(unpack.gunzip(pieces(whole, size), library)) == TEXT + b"and more"


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_gzip_is_told(library: ModuleType, name: str) -> None:
    data, said = BROKEN[name]
    with pytest.raises(zlib.error) as raised:
        list(unpack.gunzip(pieces(data), library))
    assert said in str(raised.value)


@pytest.mark.parametrize("dialect", ["gnu", "posix"])
def test_files_with_holes(dialect: str, tmp_path: Path) -> None:
    content = b"a" * 5000 + bytes(200_000) + b"b" * 70_000 + bytes(100_000)
    (tmp_path / "holes").write_bytes(content)
    subprocess.run(["fallocate", "--dig-holes", str(tmp_path / "holes")], check=True)
    (tmp_path / "after").write_bytes(b"c" * 700)
    words = ["tar", "--sparse", f"--format={dialect}", "--directory", str(tmp_path), "-c", "holes", "after"]
    packed = subprocess.run(words, capture_output=True, check=True).stdout
    assert len(packed) < len(content)
    found = {
        each.info.name: b"".join(each.content()) for each in members(Watched(packed), Layer("", 0, "none"), 1 << 30)
    }
    assert found == {"holes": content, "after": b"c" * 700}


def test_a_disk_that_fails_is_told_once_the_file_is_made() -> None:
    durable = Durable(Path("/dev/full"))
    wait([durable.done])
    with pytest.raises(OSError) as raised:
        durable.end()
    assert raised.value.errno == errno.EINVAL  # a device has nothing that could be made durable
