"""Why gates are shut: the last answer of each, journalled at most once a second."""

import time
from typing import Callable, Dict, Optional

from launcher.run import blame
from launcher.run.ask import Shut
from launcher.run.journal import Journal

RUN = "(run)"
"""Stands for the run as a whole; no child can have this name."""

_APART = 1.0


class Answers:
    """Of the gates that are asked; `seconds` says how old the run is."""

    def __init__(self, journal: Journal, seconds: Callable[[], float]) -> None:
        self._journal = journal
        self._seconds = seconds
        self._last: Dict[str, Shut] = {}
        self._untold: Dict[str, Shut] = {}
        self._told: Dict[str, float] = {}

    def last(self, step: str) -> Optional[Shut]:
        """What the gate of the step said last, while it is shut."""
        return self._last.get(step)

    def heard(self, item: Shut) -> None:
        """Takes note of an answer. Raises OSError."""
        self._last[item.step] = self._untold[item.step] = item
        self._tell(item.step)

    def opened(self, step: str) -> None:
        """The gate is open: what it said does not matter any more."""
        self._last.pop(step, None)
        self._untold.pop(step, None)

    def tick(self) -> None:
        """Journals what could not be told yet. Raises OSError."""
        for step in list(self._untold):
            self._tell(step)

    def _tell(self, step: str) -> None:
        moment = time.monotonic()
        if moment - self._told.get(step, 0.0) < _APART:
            return
        self._told[step] = moment
        shut = self._untold.pop(step)
        name = "" if step == RUN else step
        self._journal.note("gate-shut", step=name, gate=blame.gate(shut.gate), said=shut.said, after=self._seconds())
