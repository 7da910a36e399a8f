"""Layers that are read while they come."""

import threading
from concurrent.futures import Future
from pathlib import Path

import pytest

from launcher.execute.images.failure import Failure
from launcher.execute.images.fetch import Coming
from launcher.execute.images.flatten import members
from launcher.images.oci import Layer
from tests.execute.images.test_unpack import layer


class Source:
    """One layer that has come as far as `data`, and no further."""

    def __init__(self, path: Path, data: bytes) -> None:
        path.write_bytes(data)
        self.path, self.whole, self.closed = path, Future[Path](), threading.Event()

    def open(self, layer: Layer) -> "Source":
        return self

    def __enter__(self) -> Coming:
        self.content = self.path.open("rb", buffering=0)
        return Coming(self.content, self.whole)

    def __exit__(self, *what: object) -> None:
        self.content.close()
        self.closed.set()


def test_what_has_come_is_read_before_the_rest(tmp_path: Path) -> None:
    source = Source(tmp_path / "part", b"first")
    with source as coming:
        pieces = iter(coming)
        assert next(pieces) == b"first"
        with source.path.open("ab") as more:
            more.write(b"second")
        assert next(pieces) == b"second"
        # Its own name it gets at the end.
        source.path.rename(tmp_path / "whole")
        source.whole.set_result(tmp_path / "whole")
        assert list(pieces) == []


def test_the_end_of_what_fails_is_how_it_fails(tmp_path: Path) -> None:
    source = Source(tmp_path / "part", b"first")
    with source as coming:
        pieces = iter(coming)
        assert next(pieces) == b"first"
        source.whole.set_exception(Failure("unreachable", "it breaks off"))
        with pytest.raises(Failure, match="it breaks off"):
            next(pieces)


def test_who_waits_for_a_piece_can_be_left(tmp_path: Path) -> None:
    before, source = threading.active_count(), Source(tmp_path / "part", layer()[: 13 << 20])
    under_way = members(source, Layer("", 0, "none"), 1 << 30)
    assert [next(under_way).info.name, next(under_way).info.name] == ["a", "b"]
    with pytest.raises(KeyboardInterrupt):
        under_way.throw(KeyboardInterrupt())  # type: ignore[attr-defined]
    assert source.closed.is_set()
    assert threading.active_count() == before
