"""Layers that are left before their end, as Ctrl-C leaves them: nobody reads what they come from any more."""

import gzip
import io
import os
import subprocess
import tarfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from launcher.execute.images import unpack
from launcher.execute.images.flatten import members
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
