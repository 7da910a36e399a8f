"""Ending the steps of a run inside a Slurm job: gently by pid, then by step, then by force, the janitor last."""

import json
import signal
import time
from contextlib import suppress
from typing import Callable, Dict, List, Sequence, Set, Tuple

from launcher.run import proc, steps
from launcher.run.child import Running
from launcher.run.errand import Errand, Errands
from launcher.run.journal import Journal
from launcher.run.script import Allocation

_TELLING = 15.0
_ASKING = 10.0
_AFTER_SIGNAL = 2.0
_AFTER_KILL = 6.0
_PAUSE = 0.02
_SIGNALLED = 1
_KILLED = 2


class Dismissal:
    """Ends children that are `srun`s. A signal to an `srun` kills its step at once, so none gets any.

    Every child's tasks are signalled on their nodes by their pids, all at once; a child that has none there (its
    container is being made, or Slurm starts no more steps since the job is being ended) is signalled as a whole.
    After the child's own seconds the whole step gets TERM, then KILL. `wait(seconds)` waits for at most so long and
    collects what has ended; `urged()` ends the patience.
    """

    def __init__(
        self,
        allocation: Allocation,
        name: str,
        errands: Errands,
        journal: Journal,
        wait: Callable[[float], bool],
        urged: Callable[[], bool],
    ) -> None:
        self._allocation = allocation
        self._name = name
        self._errands = errands
        self._journal = journal
        self._wait = wait
        self._urged = urged

    def work(self, children: Sequence[Running], budget: float) -> None:
        """Ends them within `budget` seconds; children that are `last` have their own on top."""
        self._end([running for running in children if not running.child.last], time.monotonic() + budget)
        final = [running for running in children if running.child.last]
        self._end(final, time.monotonic() + max([running.child.stop.seconds for running in final], default=0.0))

    def cut(self, names: Sequence[str]) -> None:
        """KILLs the steps of these children, whatever has become of their `srun`s, and waits until they are gone."""
        limit = time.monotonic() + _AFTER_KILL
        while time.monotonic() < limit:
            found = self._ids(names)
            if not found:
                return
            self._do((*self._allocation.kill, *found))
            self._wait(_PAUSE)

    def _end(self, group: Sequence[Running], end: float) -> None:
        living = [running for running in group if running.status is None]
        begun = time.monotonic()
        deaf = [running for running in living if running.child.last] or self._tell(living)
        self._signal(deaf)
        stages = {running: _Stage(min(begun + running.child.stop.seconds, end)) for running in living}
        while stages:
            self._wait(_PAUSE)
            stages = {running: stage for running, stage in stages.items() if running.status is None and stage.level < 3}
            self._harden(stages)
        self.cut([running.child.name for running in group if running.killed])

    def _harden(self, stages: Dict[Running, "_Stage"]) -> None:
        """TERM for the whole step of those whose time is over, next time KILL, at last KILL for `srun` itself."""
        now = time.monotonic()
        due = [running for running, stage in stages.items() if stage.over(now, self._urged())]
        self._signal([running for running in due if stages[running].level == _SIGNALLED])
        killing = [running for running in due if stages[running].level == _KILLED]
        for running in killing:
            self._journal.note("kill", step=running.child.name)
        found = self._ids([running.child.name for running in killing])
        if found:
            self._do((*self._allocation.kill, *found))
        for running in due:
            if stages[running].level > _KILLED:
                proc.send_group(running.pid, signal.SIGKILL)

    def _tell(self, living: Sequence[Running]) -> List[Running]:
        """Signals the tasks by pid; returns the children that had none on any node."""
        told: List[Errand] = []
        for node, number, names in _by_node(living):
            told.append(self._errands.begin((*self._allocation.nodes[node].tell, number, *names), _TELLING))
        while any(errand.exit is None for errand in told) and not self._urged():
            self._wait(_PAUSE)
        heard: Set[str] = {name for errand in told for name, pids in _heard(errand.out).items() if pids}
        for errand in told:
            if errand.exit:
                self._journal.note("untold", reason=errand.reason)
        return [running for running in living if running.child.name not in heard]

    def _signal(self, group: Sequence[Running]) -> None:
        found = self._ids([running.child.name for running in group if running.status is None])
        if found:
            self._do((*self._allocation.signal, *found))

    def _ids(self, names: Sequence[str]) -> List[str]:
        if not names:
            return []
        return steps.ids(steps.of(self._name, self._do(self._allocation.steps).out), names)

    def _do(self, words: Sequence[str]) -> Errand:
        errand = self._errands.begin(words, _ASKING)
        while errand.exit is None:
            self._wait(_PAUSE)
        return errand


def _heard(said: str) -> Dict[str, List[int]]:
    """Child → pids that were told, of what `tell` printed; nothing of a step that could not be started."""
    for line in said.splitlines():
        with suppress(ValueError):
            found = json.loads(line)
            if isinstance(found, dict):
                return found
    return {}


class _Stage:
    """How hard a child is being asked, and until when."""

    def __init__(self, deadline: float) -> None:
        self.level = 0
        self.deadline = deadline

    def over(self, now: float, urged: bool) -> bool:
        """Whether it is time for the next level, which then has begun."""
        if urged and self.level < _KILLED:
            self.level = _KILLED
        elif now > self.deadline:
            self.level += 1
        else:
            return False
        self.deadline = now + (_AFTER_SIGNAL if self.level == _SIGNALLED else _AFTER_KILL)
        return True


def _by_node(living: Sequence[Running]) -> List[Tuple[int, str, List[str]]]:
    """Node, signal, children: those started last first, as a router hears of the end before its workers do."""
    found: Dict[Tuple[int, str], List[str]] = {}
    for running in reversed(living):
        for node in running.child.nodes:
            found.setdefault((node, running.child.stop.signal), []).append(running.child.name)
    return [(node, number, names) for (node, number), names in found.items()]
