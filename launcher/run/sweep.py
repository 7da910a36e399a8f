"""Finding and ending what a run left behind: by environment, session, open files and working directory."""

import json
import os
import signal
import time
from contextlib import suppress
from typing import Callable, Dict, Iterable, List, Mapping, Optional

from launcher.run import proc

VARIABLE = "LAUNCH_RUN"
"""Set to the run directory in the environment of the keeper and of everything below it."""

EVENTS = "events.jsonl"


def leftovers(run: str) -> List[int]:
    """Living processes of this user that belong to the run directory `run`, ourselves and our parents aside.

    One belongs to it when its environment says so, when it is in the session of a step the journal names, or
    when it has a file of the run directory open for writing. Programs may write over the environment that
    /proc shows (smg 1.13 does, by setproctitle): where nothing of it is left, the working directory tells.
    People's own shells, pagers and `tail -f` are spared: they have a terminal, or only read.
    """
    return of_each([run])[run]


def of_each(runs: Iterable[str]) -> Dict[str, List[int]]:
    """Leftovers of several runs, found in one look at all processes."""
    sessions = {run: _sessions(run) for run in runs}
    left: Dict[str, List[int]] = {run: [] for run in sessions}
    spared = proc.lineage(os.getpid()) if sessions else set()
    for found in proc.everyone() if sessions else ():
        if found.pid not in spared and not found.zombie and _mine(found.pid):
            run = _owner(found, sessions)
            if run is not None:
                left[run].append(found.pid)
    return left


def belongs(pid: int) -> Optional[str]:
    """The run directory in the environment of a process, or of one above it: programs may write over their own."""
    start = os.fsencode("%s=" % VARIABLE)
    for each in proc.lineage(pid):
        for variable in _environment(each):
            if variable.startswith(start):
                return os.fsdecode(variable[len(start) :])
    return None


def sweep(run: str, patience: float = 5.0) -> List[int]:
    """Kills every leftover of `run`; returns the pids of those that would not die within `patience` seconds."""
    return end(lambda: leftovers(run), patience, list)


def end(find: Callable[[], Iterable[int]], patience: float, reap: Callable[[], object]) -> List[int]:
    """Kills what `find` finds until it finds nothing, calling `reap` in between; returns what outlived `patience`."""
    deadline = time.monotonic() + patience
    while True:
        found = list(find())
        if not found or time.monotonic() > deadline:
            return found
        for pid in found:
            proc.send(pid, signal.SIGKILL)
        reap()
        time.sleep(0.005)


def clear(run: str, patience: float = 10.0) -> List[int]:
    """Kills every descendant of this process and every leftover of `run`, and collects them.

    Returns the pids of those that would not die (they hang in the kernel). Only for a process all of whose
    children belong to the run.
    """

    def find() -> Iterable[int]:
        return {found.pid for found in proc.descendants(os.getpid())}.union(leftovers(run))

    left = end(find, patience, reap)
    reap()
    return left


def reap() -> Dict[int, int]:
    """Collects every child of this process that has ended: pid → wait status, in the order they were found."""
    gone = {}
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            gone[pid] = status
    return gone


def _mine(pid: int) -> bool:
    try:
        return os.stat("/proc/%d" % pid).st_uid == os.geteuid()
    except OSError:
        return False


def _owner(found: proc.Stat, runs: Mapping[str, Mapping[int, int]]) -> Optional[str]:
    """The run that a process belongs to, of `runs` with their sessions."""
    variables = _environment(found.pid)
    for run, sessions in runs.items():
        if os.fsencode("%s=%s" % (VARIABLE, run)) in variables or _in_session(found, sessions):
            return run
    if found.tty:
        return None
    written = _written(found.pid, runs)
    if written is not None or any(b"=" in variable for variable in variables):
        return written
    return _containing(_link(found.pid, "cwd"), runs)


def _sessions(run: str) -> Dict[int, int]:
    """Session of each step the journal says was started, and those made below it → when its leader was born."""
    found = {}
    with suppress(OSError), open(os.path.join(run, EVENTS), "rb") as file:
        for line in file:
            with suppress(ValueError, KeyError, TypeError):
                event = json.loads(line.decode("utf-8"))
                if event["event"] in ("start", "session"):
                    found[int(event["pid"])] = int(event["born"])
    return found


def _in_session(found: proc.Stat, sessions: Mapping[int, int]) -> bool:
    if found.session not in sessions:
        return False
    leader = proc.stat(found.session)
    return found.born >= sessions[found.session] and (leader is None or leader.born == sessions[found.session])


def _environment(pid: int) -> List[bytes]:
    try:
        with open("/proc/%d/environ" % pid, "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def _link(pid: int, name: str) -> str:
    try:
        return os.readlink("/proc/%d/%s" % (pid, name))
    except OSError:
        return ""


def _containing(path: str, runs: Iterable[str]) -> Optional[str]:
    return next((run for run in runs if path.startswith(run + "/") or path in (run, run + " (deleted)")), None)


def _written(pid: int, runs: Iterable[str]) -> Optional[str]:
    """The run of which the process has a file open for writing."""
    try:
        numbers = os.listdir("/proc/%d/fd" % pid)
    except OSError:
        return None
    found = ((number, _containing(_link(pid, "fd/" + number), runs)) for number in numbers)
    return next((run for number, run in found if run is not None and _writable(pid, number)), None)


def _writable(pid: int, number: str) -> bool:
    try:
        with open("/proc/%d/fdinfo/%s" % (pid, number), "rb") as file:
            flags = [line.split()[1] for line in file if line.startswith(b"flags:")]
    except OSError:
        return False
    return any(int(flag, 8) & os.O_ACCMODE != os.O_RDONLY for flag in flags)
