"""Room on a disk, looked for before anything is fetched; and what is said of a folder that cannot be written to."""

import errno
import grp
import os
import pwd
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from launcher.execute.images.failure import NO_ROOM, Failure, full

_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)


def room(folder: Path, wanted: int, what: str) -> None:
    """Raises Failure where so many bytes, wanted for `what`, are not free in a folder that is there."""
    free = shutil.disk_usage(folder).free
    if free < wanted:
        raise Failure("full", f"`{folder}` has {free >> 20} MiB free, and {-(-wanted >> 20)} MiB are wanted for {what}")


@contextmanager
def writing(folder: Path, room: str, elsewhere: str) -> Iterator[None]:
    """While a folder is written to: that it is full, or may not be written to, is a Failure, with advice on where
    `room` is had and on what names a folder `elsewhere`. Raises Failure.
    """
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise replace(full(folder, (error.strerror or str(error)).lower()), advice=room) from error
        if error.errno not in _CLOSED or not _about(folder, error.filename):
            raise
        raise Failure("closed", _closed(folder, error), elsewhere) from error
    except Failure as failure:
        if failure.kind != "full" or failure.advice is not None:
            raise
        raise replace(failure, advice=room) from failure


def _about(folder: Path, name: object) -> bool:
    """Whether what an error names is the folder, in it, or above it."""
    path = Path(name) if isinstance(name, str) else None
    return path is not None and (path.is_relative_to(folder) or folder.is_relative_to(path))


def _closed(folder: Path, error: OSError) -> str:
    """What is in the way of writing to a folder: of all that is there, the nearest that says who may."""
    if error.errno == errno.EROFS:
        return f"`{folder}` cannot be written to: its file system is read-only"
    place = next(each for each in (folder, *folder.parents) if _status(each) is not None)
    if place == folder and os.access(folder, os.W_OK | os.X_OK):
        return f"`{error.filename}` cannot be written to: it is another user's"
    where = "" if place == folder else f" in `{place}`"
    return f"`{folder}` cannot be {'made' if where else 'written to'}: {_who(place)} may write{where}"


def _who(place: Path) -> str:
    """Who may write to a folder, by its mode."""
    found = place.stat()
    names = []
    if found.st_mode & stat.S_IWUSR:
        names.append(f"`{_name(pwd.getpwuid, found.st_uid)}`")
    if found.st_mode & stat.S_IWGRP:
        names.append(f"the group `{_name(grp.getgrgid, found.st_gid)}`")
    return f"only {' and '.join(names)}" if names else "nobody"


def _name(known: Callable[[int], Sequence[Any]], number: int) -> str:
    try:
        return str(known(number)[0])
    except KeyError:
        return str(number)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
