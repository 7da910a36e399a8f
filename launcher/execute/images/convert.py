"""Layers into a squashfs file; and the program that does so on a compute node, by its own Python 3.9 or newer.

    python convert.pyz ORDER

ORDER is the JSON of an `Order`. Each line of its output is JSON: how far it is, and where it fails why, with exit
code 4.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launcher.execute.images.failure import NO_ROOM, Failure
from launcher.execute.images.flatten import Flat, Source
from launcher.execute.images.squash import Squash
from launcher.images.oci import Layer

FAILED = 4
_PIECE = 1 << 20

Told = Callable[[int], None]


@dataclass(frozen=True)
class Order:
    """A squashfs file to be made: of which layers, and what is added. `blobs` is the folder that they are in."""

    out: str
    compressor: str
    layers: Sequence[Layer]
    added: Sequence[tuple[str, str]]
    folders: Sequence[str]
    blobs: str


@dataclass(frozen=True)
class Folder:
    """Layers that are all there."""

    path: Path

    @contextmanager
    def open(self, layer: Layer) -> Iterator[Iterator[bytes]]:
        """The layer in pieces. Raises OSError."""
        with (self.path / layer.digest.removeprefix("sha256:")).open("rb") as content:
            yield iter(lambda: content.read(_PIECE), b"")


def squash(source: Source, order: Order, environ: Mapping[str, str], told: Told) -> None:
    """Makes the file. Raises Failure and OSError. `told` hears which layer is next, the last being 0."""
    writer: Any = Squash(environ, Path(order.out), order.compressor)
    try:
        writer.restart()
        Flat(source, order.layers, writer, order.added, order.folders, restart=writer.restart, told=told).write()
        writer.close()
    finally:
        writer.kill()


def dump(order: Order) -> bytes:
    """The order as the program reads it."""
    rows = [(each.digest, each.size, each.compression) for each in order.layers]
    data = {each.name: getattr(order, each.name) for each in dataclasses.fields(order)}
    return json.dumps({**data, "layers": rows}).encode("ascii")


def load(text: bytes) -> Order:
    """What `dump` wrote."""
    data = json.loads(text)
    added = [(path, content) for path, content in data["added"]]
    return Order(**{**data, "layers": [Layer(*each) for each in data["layers"]], "added": added})


def failure(line: str) -> Failure | None:
    """The failure that the program's last line tells; None for any other line."""
    try:
        data = json.loads(line)["failure"]
        return Failure(data["kind"], str(data["message"]), data["advice"])
    except (ValueError, KeyError, TypeError):
        return None


def layer(line: str) -> int | None:
    """The number of the layer that a line tells of; None for any other line."""
    try:
        return int(json.loads(line)["layer"])
    except (ValueError, KeyError, TypeError):
        return None


def main(argv: Sequence[str]) -> int:
    """The program."""
    order = load(Path(argv[0]).read_bytes())
    try:
        squash(Folder(Path(order.blobs)), order, os.environ, lambda number: _say({"layer": number}))
    except Failure as failed:
        node = os.environ.get("SLURMD_NODENAME") or os.uname().nodename
        message = f"{failed.message} (on {node})"
        _say({"failure": {"kind": failed.kind, "message": message, "advice": failed.advice}})
        return FAILED
    except OSError as error:
        text = f"`{error.filename or order.out}`: {(error.strerror or str(error)).lower()}"
        kind = "full" if error.errno in NO_ROOM else "faulty"
        _say({"failure": {"kind": kind, "message": text, "advice": None}})
        return FAILED
    return 0


def _say(data: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(data) + "\n")
    sys.stdout.flush()
