"""Ending everything a run started: together, within bounds, nothing left."""

import os
import signal
import time
from typing import Callable, Dict, List, Sequence

from launcher.run import proc, sweep
from launcher.run.child import Running
from launcher.run.inbox import Inbox
from launcher.run.journal import Journal

_STRAYS = 2.0
_AFTER_KILL = 5.0
_PAUSE = 0.02


class Teardown:
    """Ends the children of a run and all below this process.

    All are asked at once, those started last first and without waiting in between: a router has heard of the
    end before its workers have, closes its door and costs no time. Each has its own seconds, `budget` bounds
    them all; being urged ends the patience. What left its child's process group is asked when the groups have
    gone, and killed after two seconds. `collect` takes note of children that have ended.
    """

    def __init__(self, inbox: Inbox, journal: Journal, collect: Callable[[], None]) -> None:
        self._inbox = inbox
        self._journal = journal
        self._collect = collect

    def work(self, run: str, children: Sequence[Running], budget: float) -> List[int]:
        """Returns the pids of what would not die (it hangs in the kernel)."""
        end = time.monotonic() + budget
        self._groups(children, end)
        self._strays(end)
        return sweep.clear(run)

    def _groups(self, children: Sequence[Running], end: float) -> None:
        deadlines: Dict[Running, float] = {}
        for running in reversed(children):
            stop = running.child.stop
            deadlines[running] = min(time.monotonic() + stop.seconds, end)
            proc.send_group(running.pid, getattr(signal, "SIG" + stop.signal))
            # A stopped process hears nothing before it goes on.
            proc.send_group(running.pid, signal.SIGCONT)
        killed: Dict[Running, float] = {}
        while deadlines:
            self._collect()
            now = time.monotonic()
            for running, deadline in list(deadlines.items()):
                if _gone(running) or now > killed.get(running, now) + _AFTER_KILL:
                    del deadlines[running]
                elif now > deadline or self._inbox.urged:
                    self._kill(running, killed)
            if deadlines:
                self._inbox.get(_PAUSE)

    def _kill(self, running: Running, killed: Dict[Running, float]) -> None:
        proc.send_group(running.pid, signal.SIGKILL)
        if running not in killed:
            killed[running] = time.monotonic()
            self._journal.note("kill", step=running.child.name)

    def _strays(self, end: float) -> None:
        me = os.getpid()
        for found in proc.descendants(me):
            proc.send(found.pid, signal.SIGTERM)
        deadline = min(time.monotonic() + _STRAYS, end)
        while proc.descendants(me) and time.monotonic() < deadline and not self._inbox.urged:
            self._inbox.get(_PAUSE)
            self._collect()


def _gone(running: Running) -> bool:
    return running.status is not None and not proc.populated(running.pid)
