"""The lock of a run: held by keeper and supervisor together, naming the keeper, released by their end alone."""

import fcntl
import json
import os
import time
from typing import NamedTuple, Optional

from launcher.run import proc

FILE = "lock"
_BYTES = 512


class Holder(NamedTuple):
    """Who took the lock: `born` is the start time that tells a pid from its reuse, in ticks since boot."""

    pid: int
    born: int
    host: str


class Held(Exception):
    """Raised when another process holds the lock; the text names it."""


def blank() -> bytes:
    """Content of a lock nobody has taken yet, as long as any holder's: taking it needs no room on the disk."""
    return b"{}".ljust(_BYTES - 1) + b"\n"


def take(run: str, patience: float = 2.0) -> int:
    """Takes the lock and returns its descriptor, to be kept open. Raises Held or OSError.

    `patience` seconds are given to those who only look: `held` takes the lock for an instant.
    """
    handle = os.open(os.path.join(run, FILE), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + patience
    try:
        while not _try(handle, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                found = holder(run)
                raise Held("held by process %s on %s" % (found.pid, found.host) if found else "held")
            time.sleep(0.02)
        me = {"pid": os.getpid(), "born": proc.born(os.getpid()), "host": os.uname().nodename}
        os.pwrite(handle, json.dumps(me).encode("ascii").ljust(_BYTES - 1) + b"\n", 0)
        os.fsync(handle)
    except (OSError, Held):
        os.close(handle)
        raise
    return handle


def held(run: str) -> bool:
    """Whether keeper or supervisor live. A run without a lock file is held by nobody."""
    try:
        handle = os.open(os.path.join(run, FILE), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _try(handle, fcntl.LOCK_SH)
    finally:
        os.close(handle)


def holder(run: str) -> Optional[Holder]:
    """Who took the lock last, still there or not; None when nobody ever did or the file says nothing."""
    try:
        with open(os.path.join(run, FILE), "rb") as file:
            raw = json.loads(file.read(_BYTES).decode("utf-8"))
        return Holder(int(raw["pid"]), int(raw["born"]), str(raw["host"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _try(handle: int, how: int) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
