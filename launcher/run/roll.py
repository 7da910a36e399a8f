"""Which sessions the steps of a run have made for themselves: what is found by descent alone has to be noted."""

import os
import time
from typing import Collection, Set

from launcher.run import proc
from launcher.run.journal import Journal

_EVERY = 3.0


class Roll:
    """Notes the session of each descendant that left its step's.

    A daemon may clear its environment, close its files and stand in `/`. As long as keeper or supervisor live it is
    found below them; when both are killed at once, by its session in the journal. Raises OSError.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._known: Set[int] = set()
        self._called = 0.0

    def call(self, steps: Collection[int]) -> None:
        """Looks once in a while, for that means to read all of `/proc`; `steps` are the sessions of the steps."""
        moment = time.monotonic()
        if moment < self._called + _EVERY:
            return
        self._called = moment
        known = self._known.union(steps, [os.getsid(0)])
        for found in proc.descendants(os.getpid()):
            if found.session not in known:
                known.add(found.session)
                self._known.add(found.session)
                leader = proc.stat(found.session)
                self._journal.note("session", pid=found.session, born=(leader or found).born)
