"""What `/proc` tells about processes, and the two requests to the kernel that keep a tree together (Linux)."""

import ctypes
import os
from contextlib import suppress
from typing import Dict, List, NamedTuple, Optional, Set

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class Stat(NamedTuple):
    """One process: `group` and `session` are ids, `tty` 0 without a terminal, `born` clock ticks since boot."""

    pid: int
    parent: int
    group: int
    session: int
    tty: int
    born: int
    zombie: bool


def stat(pid: int) -> Optional[Stat]:
    """The process as `/proc/PID/stat` shows it; None when there is none."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            # The program's name stands in brackets and may hold anything, brackets too.
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if len(fields) < 20:
        return None
    parent, group, session, tty = (int(field) for field in fields[1:5])
    return Stat(pid, parent, group, session, tty, int(fields[19]), fields[0] in (b"Z", b"X"))


def everyone() -> List[Stat]:
    """Every process that can be seen."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [found for found in map(stat, pids) if found is not None]


def born(pid: int) -> Optional[int]:
    """Start time of the process in ticks since boot: with the pid it names a process for good."""
    found = stat(pid)
    return None if found is None else found.born


def alive(pid: int, since: Optional[int] = None) -> bool:
    """Whether the process runs (a zombie does not) and, with `since`, is the one born then."""
    found = stat(pid)
    return found is not None and not found.zombie and since in (None, found.born)


def descendants(root: int) -> List[Stat]:
    """Every living process below `root`; a subreaper's orphans are its children again."""
    below: Dict[int, List[Stat]] = {}
    for found in everyone():
        below.setdefault(found.parent, []).append(found)
    todo: List[int] = [root]
    seen: List[Stat] = []
    while todo:
        children = below.pop(todo.pop(), [])
        seen.extend(children)
        todo.extend(child.pid for child in children)
    return [found for found in seen if not found.zombie]


def lineage(pid: int) -> Set[int]:
    """The process and all it descends from."""
    found: Set[int] = set()
    while pid > 0 and pid not in found:
        found.add(pid)
        above = stat(pid)
        pid = 0 if above is None else above.parent
    return found


def populated(group: int) -> bool:
    """Whether a process group has a living member."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return any(found.group == group and not found.zombie for found in everyone())


def send_group(group: int, number: int) -> None:
    """A signal to every member of a process group; an empty group is no error."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def send(pid: int, number: int) -> None:
    """A signal to one process; one that has gone is no error."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def adopt_orphans() -> None:
    """Makes this process a child subreaper: orphans below it become its children. Raises OSError."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def signal_on_parents_death(number: int) -> None:
    """Asks for a signal when the thread that forked this process ends. Raises OSError.

    The parent may have died before the call: compare `os.getppid()` afterwards.
    """
    _prctl(_PR_SET_PDEATHSIG, number)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, "prctl: " + os.strerror(number))
