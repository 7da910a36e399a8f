"""What a daemon gives: images as `docker save` writes them, and why one could not be built."""

import hashlib
import json
import tarfile
from pathlib import Path
from typing import IO, Any

from launcher.execute.images.built import Built
from launcher.execute.images.failure import Failure
from launcher.execute.images.sif import BLOBS
from launcher.images import assembly
from launcher.images.containerfile import at
from launcher.images.oci import Compression, Layer
from launcher.model.definition import Definition
from launcher.text.diagnostic import Diagnostic, Place, Refused
from launcher.text.document import Document

_PIECE = 1 << 20
_MAGIC: tuple[tuple[bytes, Compression], ...] = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))
_FOREIGN = "exec format error"


def built(archive: Path, layout: Path) -> Built:
    """The one image in an archive of `docker save`, its layers among the blobs of `layout`. Raises Failure, OSError."""
    (layout / BLOBS).mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(archive) as opened:
            (entry,) = json.loads(_content(opened, "manifest.json").read())
            config = _content(opened, entry["Config"]).read()
            layers = [_blob(_content(opened, name), layout / BLOBS) for name in entry["Layers"]]
    except (tarfile.TarError, ValueError, KeyError, TypeError) as error:
        raise Failure("faulty", f"the daemon gives no image: {error}") from error
    finally:
        archive.unlink(missing_ok=True)
    return Built.of(layout, assembly.whole(config, layers), config)


def _content(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    found = archive.extractfile(name)
    if found is None:
        raise KeyError(name)
    return found


def _blob(content: IO[bytes], blobs: Path) -> Layer:
    made, size, part = hashlib.sha256(), 0, blobs / ".part"
    begin = content.read(4)
    content.seek(0)
    with part.open("wb") as out:
        while piece := content.read(_PIECE):
            made.update(piece)
            out.write(piece)
            size += len(piece)
    part.replace(blobs / made.hexdigest())
    # With containerd's store of images, Docker gives layers as a registry had them.
    plain: Compression = "none"
    stored = next((how for magic, how in _MAGIC if begin.startswith(magic)), plain)
    return Layer(f"sha256:{made.hexdigest()}", size, stored)


def failed(definition: Definition, text: str, path: Path, error: Any) -> Refused:
    """The refusal for a build that failed: the line of its Containerfile, and what was said last."""
    place = None
    instruction = at(text, error.words) if error.words else None
    if instruction is not None:
        place = Place(Document(str(path), text, {}), offset=instruction.offset, length=instruction.length)
    foreign = _FOREIGN in error.message or any(_FOREIGN in line for line in error.lines)
    help_ = "a daemon runs programs of its own architecture alone: build there" if foreign else None
    message = f"`{definition.name}` could not be built: {error.message}"
    return Refused([Diagnostic("build-failed", message, place, notes=_clean(error.lines), help=help_, exit=4)])


def _clean(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Lines without the colours that a builder gives them."""
    plain = (line.replace("\x1b[91m", "").replace("\x1b[0m", "").strip() for line in lines)
    return tuple(line for line in plain if line)
