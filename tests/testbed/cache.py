"""What testbeds share and is slow to make, kept between runs where every user and every node can read it."""

import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

FOLDER = Path(os.environ.get("LAUNCH_TESTBED_CACHE", "/var/cache/launch-testbed"))
"""Not below a home folder: ordinary users of a testbed read it too, under this very path."""


def folder(name: str) -> Path:
    """A folder that every user may write to, for caches of other programs."""
    found = FOLDER / name
    found.mkdir(parents=True, exist_ok=True)
    found.chmod(0o1777)
    return found


def place(name: str, parts: Iterable[object]) -> Path:
    """Where the file or folder `name` made out of `parts` is, or will be."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]
    stem, dot, suffix = name.partition(".")
    return FOLDER / f"{stem}-{digest}{dot}{suffix}"


def made(name: str, parts: Iterable[object], make: Callable[[Path], None]) -> Path:
    """The file or folder `name` made out of `parts`, whose text decides whether it is still the same.

    `make` writes it to the path it is given. One process makes it; others wait for that one. Others of its name, made
    of other parts, are removed when nobody has asked for them for a while.
    """
    goal = place(name, parts)
    stem, dot, suffix = name.partition(".")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f".{stem}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if goal.exists():
            os.utime(goal)
            return goal
        with tempfile.TemporaryDirectory(dir=FOLDER, prefix=f".{stem}.") as scratch:
            Path(scratch).chmod(0o755)
            make(Path(scratch) / name)
            os.utime(Path(scratch) / name)
            (Path(scratch) / name).replace(goal)
        for old in FOLDER.glob(f"{stem}-{'?' * 16}{dot}{suffix}"):
            if time.time() - old.stat().st_mtime > _WHILE:
                _remove(old)
    return goal


_WHILE = 1800


def _remove(old: Path) -> None:
    if old.is_dir():
        shutil.rmtree(old)
    else:
        old.unlink()


def text(folder: Path, *patterns: str) -> list[str]:
    """The text of the files below `folder` that match, in order: what `made` can tell a change by."""
    files = sorted({path for pattern in patterns for path in folder.rglob(pattern)})
    return [f"{path.relative_to(folder)}\n{hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files]
