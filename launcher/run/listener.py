"""Whose a port is that somebody listens on, where it is a run of this user's: told by `/proc` (Linux)."""

import os
from contextlib import suppress
from typing import Dict, Iterable, Iterator, Optional, Tuple

from launcher.run import notes, proc, sweep

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENS = "0A"


def runs(ports: Iterable[int], folder: str) -> Dict[int, str]:
    """Port → name of the run that listens on it; those of others, and of programs of no run, are left out.

    A program may have written over its environment (smg 1.13 does) and have nobody's above it: what is in the
    `folder` of runs has noted it.
    """
    wanted = set(ports)
    sockets = {"socket:[%s]" % inode: port for inode, port in _listening() if port in wanted} if wanted else {}
    found = {}
    for process in proc.everyone() if sockets else ():
        held = {sockets[link] for link in _links(process.pid) if link in sockets}
        run = (sweep.belongs(process.pid) or _noting(process.pid, folder)) if held else None
        if run is not None:
            found.update(dict.fromkeys(held, os.path.basename(run)))
    return found


def _noting(pid: int, folder: str) -> Optional[str]:
    """The run that has noted a process, or one above it."""
    lineage, here = proc.lineage(pid), notes.host()
    with suppress(OSError):
        for name in os.listdir(folder):
            if not lineage.isdisjoint(notes.living(os.path.join(folder, name), here)):
                return name
    return None


def _listening() -> Iterator[Tuple[str, int]]:
    """Inode and port of every socket of this network namespace that listens."""
    for table in _TABLES:
        with suppress(OSError), open(table) as file:
            for fields in (line.split() for line in file):
                if len(fields) > 9 and fields[3] == _LISTENS:
                    yield fields[9], int(fields[1].rpartition(":")[2], 16)


def _links(pid: int) -> Iterator[str]:
    """What the open files of a process are; nothing where it is hidden."""
    folder = "/proc/%d/fd" % pid
    with suppress(OSError):
        for name in os.listdir(folder):
            with suppress(OSError):
                yield os.readlink(os.path.join(folder, name))
