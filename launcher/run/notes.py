"""Notes of pids: each task of a Slurm step writes its own `/proc/PID/stat` to `pids/CHILD.HOST.PID` as it starts."""

import os
from typing import List

from launcher.run import proc

FOLDER = "pids"
_HOST = "/proc/sys/kernel/hostname"


def host() -> str:
    """What notes of this machine call it: containers, and hosts under Slurm's names, see the same."""
    with open(_HOST, encoding="utf-8") as file:
        return file.read().strip()


def noted(run: str, child: str, here: str) -> List[int]:
    """Pids of the child's tasks on the host `here` that still live; a later process of such a pid is none."""
    start = "%s.%s." % (child, here)
    names = [name for name in _names(run) if name.startswith(start) and name[len(start) :].isdigit()]
    return sorted(pid for pid in (int(name[len(start) :]) for name in names) if _same(run, start, pid))


def living(run: str, here: str) -> List[int]:
    """Pids of all tasks noted on the host that still live."""
    end = ".%s." % here
    cut = [name.rpartition(".") for name in _names(run)]
    found = [(head + ".", int(pid)) for head, _, pid in cut if pid.isdigit() and (head + ".").endswith(end)]
    return sorted(pid for start, pid in found if _same(run, start, pid))


def _names(run: str) -> List[str]:
    try:
        return os.listdir(os.path.join(run, FOLDER))
    except OSError:
        return []


def _same(run: str, start: str, pid: int) -> bool:
    """Whether the process of that pid is the one that wrote the note."""
    try:
        with open(os.path.join(run, FOLDER, "%s%d" % (start, pid)), "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return proc.alive(pid, int(fields[19]))
    except (OSError, ValueError, IndexError):
        return False
