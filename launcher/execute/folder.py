"""Folders of files that are found by their names."""

import re
from collections.abc import Iterator
from pathlib import Path

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_PIECE = re.compile(r"\d+|[a-z]+")


def exists(path: Path) -> bool:
    """Whether anything is there; what cannot be looked at is there, so that reading it says why."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True
    return True


def above(folder: Path, name: str) -> Path | None:
    """What is called so in a folder, or in the nearest above it that has one."""
    start = folder.absolute()
    return next((path for each in (start, *start.parents) if exists(path := each / name)), None)


def names(folder: Path, suffix: str = ".toml") -> Iterator[str]:
    """Names of the folder's files of that kind, sorted; none where it cannot be read."""
    try:
        found = sorted(path.name for path in folder.iterdir())
    except OSError:
        return
    for file in found:
        name = file.removesuffix(suffix)
        if name != file and NAME.fullmatch(name):
            yield name


def folders(folder: Path) -> Iterator[str]:
    """Names of the folder's folders, sorted; none where it cannot be read."""
    yield from (name for name in every(folder) if NAME.fullmatch(name))


def every(folder: Path) -> Iterator[str]:
    """The same, whatever they are called, but for those that are hidden."""
    try:
        found = sorted(path.name for path in folder.iterdir() if path.is_dir())
    except OSError:
        return
    yield from (name for name in found if not name.startswith("."))


def age(version: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts versions: numbers by value, a release after its candidates."""
    pieces = [(1, int(piece), "") if piece.isdecimal() else (-1, 0, piece) for piece in _PIECE.findall(version.lower())]
    return (*pieces, (0, 0, ""))
