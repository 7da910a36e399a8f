"""Trees of images, ours and those of umoci, made from the same layers."""

import json
import os
import stat
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launcher.execute.images.flatten import Flat
from launcher.execute.images.squash import Squash
from launcher.images import oci as documents
from launcher.images.oci import Layer, Manifest
from tests.testbed.oci import Made


@dataclass(frozen=True)
class Blobs:
    """Layers in memory."""

    made: Made

    @contextmanager
    def open(self, layer: Layer) -> Iterator[Iterator[bytes]]:
        """In odd pieces."""
        whole = self.made.blobs[layer.digest]
        yield (whole[at : at + 777] for at in range(0, len(whole), 777))


def squash(made: Made, out: Path, writer: Squash | None = None, **more: Any) -> None:
    """The image as we make it."""
    manifest = documents.read(made.manifest)
    assert isinstance(manifest, Manifest)
    writer = writer or Squash(os.environ, out)
    writer.restart()
    try:
        Flat(Blobs(made), manifest.layers, writer, restart=writer.restart, **more).write()  # type: ignore[arg-type]
        writer.close()
    finally:
        writer.kill()


def unsquash(image: Path, root: Path) -> None:
    """Unpacks a squashfs file."""
    words = ["unsquashfs", "-no-progress", "-quiet", "-dest", str(root), str(image)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "TZ": "UTC"})


def umoci(made: Made, folder: Path) -> Path | None:
    """The root that umoci makes of the image; None where it refuses."""
    layout = folder / "layout"
    (layout / "blobs" / "sha256").mkdir(parents=True)
    (layout / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    for digest, body in {**made.blobs, made.digest: made.manifest}.items():
        (layout / "blobs" / "sha256" / digest.removeprefix("sha256:")).write_bytes(body)
    entry = {
        "mediaType": made.kind,
        "digest": made.digest,
        "size": len(made.manifest),
        "annotations": {"org.opencontainers.image.ref.name": "x"},
    }
    (layout / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))
    words = ["umoci", "raw", "unpack", "--image", f"{layout}:x", str(folder / "root")]
    done = subprocess.run(words, capture_output=True, text=True)
    return folder / "root" if done.returncode == 0 else None


def tree(root: Path) -> Mapping[str, Any]:
    """Path → everything about it that an image has; files that are one by hard links have one number.

    Of times those of files count: by them Python tells whether its bytecode is stale.
    """
    numbers: dict[tuple[int, int], int] = {}
    found: dict[str, Any] = {}
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted([*folders, *names]):
            path = Path(folder) / name
            found[str(path.relative_to(root))] = _entry(path, numbers)
    return found


def _entry(path: Path, numbers: dict[tuple[int, int], int]) -> Any:
    seen = path.lstat()
    kind = stat.S_IFMT(seen.st_mode)
    content: Any = None
    if stat.S_ISLNK(seen.st_mode):
        return kind, str(path.readlink())
    if stat.S_ISREG(seen.st_mode):
        number = numbers.setdefault((seen.st_dev, seen.st_ino), len(numbers))
        content = (path.read_bytes(), number if seen.st_nlink > 1 else None, int(seen.st_mtime))
    xattrs = {
        name: os.getxattr(path, name, follow_symlinks=False) for name in os.listxattr(path, follow_symlinks=False)
    }
    return kind, stat.S_IMODE(seen.st_mode), seen.st_uid, seen.st_gid, content, xattrs
