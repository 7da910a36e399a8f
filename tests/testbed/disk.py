"""File systems of their own: small ones, and those that nobody may write to."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def disk(folder: Path, options: str) -> Iterator[Path]:
    """A new folder that is a file system with these options of `mount` (`size=1m`, `ro`); as root."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path) -> None:
    """Leaves no room on the file system of a folder, by one file more, `filler`."""
    with contextlib.suppress(OSError), (folder / "filler").open("ab", buffering=0) as file:
        while file.write(bytes(1 << 16)):
            pass
