"""A step on one node that signals the processes whose pids the run's children noted there."""

import glob
import os
import signal
import sys
from typing import Iterator, List

from launcher.run import proc
from launcher.run.proc import Stat

PIDS = "pids"
_HOST = "/proc/sys/kernel/hostname"


def main(words: List[str]) -> int:
    """`RUNDIR SIGNAL NAME…`: signals the tasks of these children on this node, and prints each child that has any."""
    run, name, children = words[0], words[1], words[2:]
    number = getattr(signal, "SIG" + name)
    for child in children:
        found = list(tasks(run, child, host()))
        for task in found:
            proc.send(task.pid, number)
            # A stopped process hears nothing before it goes on.
            proc.send(task.pid, signal.SIGCONT)
        if found:
            sys.stdout.write(child + "\n")
    return 0


def tasks(run: str, child: str, name: str) -> Iterator[Stat]:
    """The living processes that the child noted on the node of that name; its start time tells one from a later."""
    for path in sorted(glob.glob(os.path.join(glob.escape(run), PIDS, "%s.%s.*" % (glob.escape(child), name)))):
        pid = path.rpartition(".")[2]
        noted = _born(path)
        task = proc.stat(int(pid)) if pid.isdigit() else None
        if task is not None and not task.zombie and task.born == noted:
            yield task


def host() -> str:
    """The name of the node, as the notes have it."""
    with open(_HOST, encoding="utf-8") as file:
        return file.read().strip()


def _born(path: str) -> int:
    try:
        with open(path, "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return -1
