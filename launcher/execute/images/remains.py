"""What makers of image files leave that were killed: files and folders with a dot in front, and who had them.

Each has a lock beside it, which is the kernel's: free once its holder is dead. An import that was cut short is taken
up again by the next who wants the image, so it stays for that; all else is nobody's, and goes with the next that
writes to the folder.
"""

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from launcher.execute.held import Held, held
from launcher.execute.world import World

FILES = (".sqsh", ".sif")
"""Suffixes of image files."""

_WORK = ".build-"
_LEFT = ".left"
_KINDS = (".part", ".layers", ".bake", _LEFT)


def left(folder: Path) -> Iterator[Path]:
    """What there is of it in a folder, whoever has it."""
    yield from (path for path in sorted(folder.glob(".*")) if path.suffix in _KINDS)


def size(path: Path) -> int:
    """Bytes of it, as far as they can be seen."""
    found = 0
    for each in path.rglob("*") if path.is_dir() else (path,):
        with suppress(OSError):
            found += each.lstat().st_size
    return found


def tidy(world: World, folder: Path) -> None:
    """Takes away what nobody has, and nobody will take up again; what is another user's may have to stay."""
    _clear(world, (path for path in left(folder) if _spent(path)))


def clear(world: World, path: Path) -> bool:
    """Takes away what a maker left, unless somebody is at it. Raises OSError."""
    lock = _lock(path)
    try:
        with held(world, lock, "clearing up", 0.0):
            remove(path) if path.is_dir() else path.unlink(missing_ok=True)
            if _alone(path):
                lock.unlink(missing_ok=True)
    except Held:
        return False
    return True


@contextmanager
def work(world: World, folder: Path) -> Iterator[Path]:
    """A folder in another, for one process alone and as long as it wants. Those of dead ones go. Raises OSError."""
    _clear(world, folder.glob(f"{_WORK}*.layers"))
    place = folder / f"{_WORK}{secrets.token_hex(6)}.layers"
    lock = _lock(place)
    # The lock comes first and goes last: a folder without a holder is taken for a dead one's.
    with held(world, lock, "building", 0.0):
        try:
            place.mkdir(mode=0o700)
            yield place
        finally:
            remove(place)
            lock.unlink(missing_ok=True)


def aside(path: Path) -> None:
    """Makes room where another user's dead import is in the way: it is theirs to take away. Raises OSError."""
    path.rename(path.with_name(f"{path.stem}-{secrets.token_hex(4)}{_LEFT}"))


def remove(folder: Path) -> None:
    """Takes a folder away, whatever a program made of its modes, as far as it is ours."""
    with suppress(OSError):
        folder.chmod(0o700)
    for above, below, _ in os.walk(folder):
        for each in below:
            path = Path(above) / each
            if not path.is_symlink():
                with suppress(OSError):
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _clear(world: World, paths: Iterable[Path]) -> None:
    for path in paths:
        with suppress(OSError):
            clear(world, path)


def _lock(path: Path) -> Path:
    """Of whoever makes the image file, or has the working folder, that it belongs to."""
    return path.with_name(f"{path.stem.removesuffix('.json')}.lock")


def _spent(path: Path) -> bool:
    """Whether nobody will take it up again: the image file is there, or one process alone wanted it."""
    name = _lock(path).stem.removeprefix(".")
    done = any(path.with_name(f"{name}{suffix}").exists() for suffix in FILES)
    return done or path.suffix == ".bake" or _alone(path)


def _alone(path: Path) -> bool:
    """Whether its lock is no other's."""
    return path.suffix == _LEFT or path.name.startswith(_WORK)
