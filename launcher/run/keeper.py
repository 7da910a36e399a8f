"""The keeper: holds the lock, forks the supervisor, and clears up after it however it ends."""

import json
import os
import signal
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from launcher.run import facts, janitor, lock, outcome, proc, remains, sweep, tell
from launcher.run.farewell import farewell
from launcher.run.inbox import STOPS, Inbox
from launcher.run.journal import Journal, now
from launcher.run.rescue import Rescue
from launcher.run.supervise import supervise
from launcher.run.sweep import EVENTS
from launcher.run.words import DETACH, HOLD, LOG

_OK = b"+"


PROGRAMS: Mapping[str, Callable[[List[str]], int]] = {
    "--facts": facts.main,
    "--janitor": janitor.main,
    "--tell": tell.main,
}
"""What else `run.pyz` is: parts of the supervisor on compute nodes, by the first word."""


def main(argv: List[str]) -> int:
    """`[--detach|--hold] RUNDIR`: keeps the run until it has ended and returns its exit code.

    With `--hold` the job that it is in lasts: it returns once somebody asks for the end, of the run or after it. With
    `--detach` the keeper goes on in a session of its own; the call returns 0 once it holds the lock, its pid and start
    time on standard output, or 1 with the reason on standard error.
    """
    if argv and argv[0] in PROGRAMS:
        return PROGRAMS[argv[0]](argv[1:])
    words = [word for word in argv if word not in (DETACH, HOLD)]
    if len(words) != 1:
        sys.stderr.write("usage: run.pyz [%s] RUNDIR\n" % DETACH)
        return 2
    run = os.path.realpath(words[0])
    if DETACH not in argv:
        code = _begin(run, None)
        if HOLD in argv:
            _last(run)
        return code
    read, write = os.pipe()
    if os.fork():
        os.close(write)
        return _reported(read)
    os.close(read)
    os.setsid()
    code = 1
    try:
        code = _begin(run, write)
    finally:
        os._exit(code)


def _last(run: str) -> None:
    """Returns once the end was asked for. Whoever asks writes that first, and signals then: none is missed."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    if outcome.asked(run) is None:
        signal.sigwait(STOPS)


def _begin(run: str, report: Optional[int]) -> int:
    rescue = Rescue()
    with rescue:
        try:
            os.chdir(run)
            if report is not None:
                _redirect((0, 1, 2))
            proc.adopt_orphans()
            held = lock.take(run)
            journal = Journal(run)
        except (OSError, lock.Held) as error:
            _tell(report, "cannot keep the run %s: %s" % (run, error))
            return 1
        _tell(report, None)
        _redirect((2,))
        code = keep(run, journal)
        os.close(held)
        return code
    _tell(report, "the keeper failed: %s" % rescue.cause)
    return 1


def keep(run: str, journal: Journal) -> int:
    """Forks the supervisor, passes signals on to it, and leaves nothing when it has ended; the run's exit code."""
    started = now()
    inbox = Inbox()
    inbox.listen()
    me = os.getpid()
    supervisor = os.fork()
    if supervisor == 0:
        code = 1
        try:
            code = supervise(run, journal, me)
        finally:
            os._exit(code)
    status = _wait(supervisor, inbox)
    with Rescue():
        # Before the sweep: a killed `srun` has its step end by force, or not at all.
        remains.clear(run)
    left = sweep.clear(run)
    found = outcome.read(run)
    if found is None:
        verdict = _verdict(run, status)
        times = {"ready_after": None, "started": started, "ended": now()}
        found = outcome.compose(verdict, times, run, left)
        with Rescue():
            outcome.write(run, found)
    farewell(run, journal, found)
    return int(found["exit"])


def _wait(supervisor: int, inbox: Inbox) -> int:
    while True:
        stops, _ = inbox.get(60.0)
        for number in stops:
            proc.send(supervisor, number)
        gone = sweep.reap()
        if supervisor in gone:
            return gone[supervisor]


def _verdict(run: str, status: int) -> outcome.Verdict:
    """Of a supervisor that left no outcome: what it had seen before counts as the first failing step."""
    how = outcome.ending(status)
    seen = _stopping(run)
    if "exit" in how and seen:
        cause = "%s (and the outcome could not be written)" % seen["cause"]
        return outcome.Verdict(seen["state"], how["exit"], cause, seen["first"])
    cause = "the supervisor %s" % outcome.told(how)
    if seen:
        cause += " while it ended the run, because: %s" % seen["cause"]
    return outcome.Verdict(outcome.BROKEN, 1, cause, seen.get("first"))


def _stopping(run: str) -> Dict[str, Any]:
    try:
        with open(os.path.join(run, EVENTS), "rb") as file:
            lines = [line for line in file if b'"event": "stop"' in line]
        found = json.loads(lines[-1].decode("ascii"))
        return {key: found[key] for key in ("state", "cause", "first")}
    except (OSError, ValueError, KeyError, IndexError):
        return {}


def _redirect(numbers: Sequence[int]) -> None:
    """Standard input from nowhere, output and error into the supervisor's log: those that are asked for."""
    try:
        log = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        # A full disk: its messages are lost, its outcome has a place of its own.
        log = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    for number in numbers:
        os.dup2(null if number == 0 else log, number)
    for handle in (log, null):
        if handle > 2:
            os.close(handle)


def _tell(report: Optional[int], failure: Optional[str]) -> None:
    """To whoever waits for the start: the failure, or None for success."""
    if report is None:
        if failure:
            sys.stderr.write(failure + "\n")
        return
    me = os.getpid()
    held = b"%s%d %d" % (_OK, me, proc.born(me) or 0)
    os.write(report, held if failure is None else failure.encode("utf-8", "replace"))
    os.close(report)


def _reported(read: int) -> int:
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    if said.startswith(_OK):
        sys.stdout.write(said[len(_OK) :].decode("ascii") + "\n")
        return 0
    sys.stderr.write((said.decode("utf-8", "replace") or "the keeper ended before it held the lock") + "\n")
    return 1
