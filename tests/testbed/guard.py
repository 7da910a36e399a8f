"""Ends a testbed however its user ends: a process that waits for its standard input to close, then clears up.

Everything of a testbed lives in UTS namespaces of its own, and the processes that hold those carry its folder in
`LAUNCH_TESTBED`. So what belongs to it can be told from everything else on the machine, whoever started it.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

MARK = "LAUNCH_TESTBED"
"""The variable whose value is the folder of a process's testbed."""

_PATIENCE = 20.0


def members(directory: Path) -> Iterator[int]:
    """Process ids that belong to the testbed in `directory`: marked, or in a namespace of a marked one."""
    mark = f"{MARK}={directory}".encode()
    own = Path("/proc/self/ns/uts").readlink()
    spaces: dict[int, Path] = {}
    marked: set[int] = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            spaces[int(entry.name)] = (entry / "ns/uts").readlink()
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                marked.add(int(entry.name))
        except OSError:  # ended meanwhile, or a zombie
            continue
    inside = {spaces[pid] for pid in marked} - {own}
    yield from (pid for pid, space in spaces.items() if pid in marked or space in inside)


def end(directory: Path) -> list[int]:
    """Kill the testbed's processes and remove its folder; returns the ids that would not end."""
    limit = time.monotonic() + _PATIENCE
    while (left := list(members(directory))) and time.monotonic() < limit:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.01)
    shutil.rmtree(directory, ignore_errors=True)
    return left


def hold(directory: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start the guard of a new testbed. It clears up once its standard input closes.

    Returns its process and the lock's descriptor, which both hold.
    """
    lock = os.open(directory / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    words = [sys.executable, "-S", __file__, str(directory)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, pass_fds=(lock,), start_new_session=True), lock


def sweep(parent: Path, pattern: str) -> None:
    """Clear up what killed runs left: the testbeds below `parent` whose lock nobody holds."""
    for directory in parent.glob(pattern):
        try:
            lock = os.open(directory / "lock", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:  # being made, or being removed
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            end(directory)
        except BlockingIOError:
            continue
        finally:
            os.close(lock)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    raise SystemExit(bool(end(Path(sys.argv[1]))))
