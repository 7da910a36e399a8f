"""Locks of files that several people and machines share: whoever waits is told who holds it.

The lock is the kernel's (`flock`), so it is gone with its holder, however that one ends. What stands in the lock
file is for people alone.
"""

import contextlib
import fcntl
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from launcher.execute.folder import exists
from launcher.execute.told import Told, unheard
from launcher.execute.world import World
from launcher.run import account, files

PATIENCE = 60.0
"""Seconds an edit waits for others; each takes a few hundredths."""

_BYTES = 512
_MODE = 0o644
_PAUSE = 0.02
_PATIENT = 1.0


class Held(Exception):
    """Raised when another process has the lock and goes on having it; the text names it."""


@contextlib.contextmanager
def held(world: World, path: Path, what: str, patience: float, told: Told = unheard) -> Iterator[int]:
    """Holds the lock file `path` for `what` (`importing x`). Waits up to `patience` seconds; raises Held or OSError.

    `told` is called once with a line on who has it, where the wait is longer than a moment. A program that is to hold
    the lock for as long as it runs, whatever becomes of us, is given the file descriptor.
    """
    handle = _opened(path)
    try:
        _wait(world, handle, patience, told)
        # Whoever shares the folder may take the lock too, whatever the umask was.
        with contextlib.suppress(OSError):
            os.fchmod(handle, 0o666)
        me = {"pid": os.getpid(), "host": os.uname().nodename, "user": account.known(world.environ).get("USER", "")}
        me |= {"what": what, "since": world.now()}
        with contextlib.suppress(OSError):  # a full disk must not keep anybody from the lock
            os.pwrite(handle, json.dumps(me).encode("ascii")[: _BYTES - 1].ljust(_BYTES - 1) + b"\n", 0)
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def editing(world: World, path: Path, told: Told = unheard, verb: str = "editing") -> Iterator[Path]:
    """The file that `path` names, links followed, while this process alone edits it: the file, not a link to it, is
    what is replaced. Raises Held or OSError.
    """
    place = path.resolve()
    with held(world, place.with_name(f".{place.name}.lock"), f"{verb} {place.name}", PATIENCE, told):
        yield place


def replace(place: Path, text: str) -> None:
    """The file whole or not at all, its mode kept. Raises OSError."""
    mode = stat.S_IMODE(place.stat().st_mode) if exists(place) else _MODE
    files.write(str(place), text.encode("utf-8"), mode)


def _opened(path: Path) -> int:
    # In a sticky folder that all may write to, Linux denies another's file to who asks for it with O_CREAT
    # (`fs.protected_regular`, since 4.19).
    with contextlib.suppress(FileNotFoundError):
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


def _wait(world: World, handle: int, patience: float, told: Told) -> None:
    began, said = world.monotonic(), False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waited = world.monotonic() - began
            if waited > patience:
                raise Held(_holder(world, handle)) from None
            if waited > _PATIENT and not said:
                told(f"waiting for {_holder(world, handle)}")
                said = True
            world.pause(_PAUSE)
        else:
            return


def _holder(world: World, handle: int) -> str:
    try:
        raw = json.loads(os.pread(handle, _BYTES, 0).decode("ascii"))
        ago = max(0, int(world.now() - float(raw["since"])))
        user = f"{raw['user']}@" if raw["user"] else ""
        return f"process {int(raw['pid'])} of {user}{raw['host']}, {raw['what']} for {ago} s"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
