"""The janitor: a step on every node that waits for the end, then takes away what the run left there.

No step can be started once a job is being ended; this one is there already, and hears of every end: Slurm signals
each step on `scancel`, at the time limit and when the batch script dies.
"""

import glob
import os
import signal
import subprocess
import sys
import time
from typing import List, Optional, Sequence

from launcher.run import notes, prepare
from launcher.run.script import Root

READY = "watching"
_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PAUSE = 0.2
_PATIENCE = 60.0
_TRIES = 3


def main(words: List[str]) -> int:
    """`RUNDIR`: 0 when all is removed, else 1 and the reason on standard output."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    allocation = prepare.bound(words[0]).allocation
    if allocation is None:
        return 1
    _say(READY)
    # No child while it waits: some sites leave children of a killed task behind.
    signal.sigwait(_STOPS)
    deadline = time.monotonic() + allocation.grace
    here = notes.host()
    while notes.living(words[0], here) and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    left = [root for root in allocation.roots if not _remove(root, deadline)]
    for root in left:
        _say("%s is left" % root.name)
    return 1 if left else 0


def present(root: Root) -> bool:
    """Whether the root is on this node."""
    return os.path.exists(root.name) if root.kind == "directory" else _listed(root.name) is not None


def busy(root: Root) -> bool:
    """Whether a process is in the root."""
    if root.kind == "directory":
        return any(_uses(path, root.name) for path in glob.glob("/proc/[0-9]*"))
    return bool(_listed(root.name))


def _remove(root: Root, deadline: float) -> bool:
    """What is still used at the deadline goes all the same: its processes are about to be killed."""
    if not present(root):
        return True
    while busy(root) and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    for _ in range(_TRIES):
        # A file that went away meanwhile (a process that ended, a folder other nodes see) makes `rm` give up.
        _run(root.remove)
        if not present(root):
            return True
    return False


def _listed(name: str) -> Optional[Sequence[str]]:
    """Pids of the processes in an enroot container; None where there is no such container."""
    done = _captured(("enroot", "list", "--fancy"))
    rows = [line.split() for line in done.splitlines()[1:]]
    pids: List[str] = []
    found = False
    current = ""
    for row in rows:
        # Further processes of a container stand on lines that begin with the pid.
        current = current if not row or row[0].isdigit() else row[0]
        if current == name:
            found = True
            pids += [word for word in row[:2] if word.isdigit()]
    return pids if found else None


def _uses(process: str, folder: str) -> bool:
    """By its mounts, or its words: an overlay by FUSE is told by neither alone."""
    if os.path.basename(process) == str(os.getpid()):
        return False
    try:
        if os.stat(process).st_uid != os.geteuid():
            return False
        with open(process + "/cmdline", "rb") as file:
            words = file.read()
        with open(process + "/mounts", "rb") as file:
            return os.fsencode(folder) + b"/" in words + file.read()
    except OSError:
        return False


def _run(words: Sequence[str]) -> bool:
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        _say(str(error))
        return False
    return done.returncode == 0


def _captured(words: Sequence[str]) -> str:
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        _say(str(error))
        return ""
    return done.stdout.decode("utf-8", "replace")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
