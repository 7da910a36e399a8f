"""A run inside a Slurm job: finding out about its nodes, why Slurm ends it, and ending its steps."""

import json
import time
from typing import Any, Callable, Iterator, List, Mapping, Optional, Sequence

from launcher.run import facts, job, prepare, steps
from launcher.run.child import inherited, shell
from launcher.run.dismissal import Dismissal
from launcher.run.errand import Errand, Errands
from launcher.run.journal import Journal
from launcher.run.outcome import Verdict, broken, unfit
from launcher.run.script import Allocation, Script

_FACTS = 120.0
_ASKING = 10.0
_AGAIN = 2
_PAUSE = 0.05

Wait = Callable[[float], bool]
"""Waits for at most so many seconds, collects what has ended, and says whether to go on."""


class Unmet(Exception):
    """Raised when the run cannot begin; the text says why, and `verdict` what that makes of the run."""

    verdict = staticmethod(broken)


class Unfit(Unmet):
    """Raised when the nodes cannot take the run."""

    verdict = staticmethod(unfit)


class Inside:
    """What the supervisor does beside, for a Script with an allocation. Raises ValueError outside a job, OSError."""

    def __init__(self, run: str, script: Script, allocation: Allocation, journal: Journal) -> None:
        self._run = run
        self._script = script
        self._journal = journal
        self._environ = shell()
        self.errands = Errands(inherited(script.inherit, self._environ), run)
        self._known = {**prepare.slots(run), **job.slots(self._environ)}
        self._bound: Allocation = job.bind_known(allocation, self._known)
        self._orphans: List[str] = []
        self._looking: Optional[Errand] = None
        self._limit: Optional[float] = None

    def meet(self, wait: Wait) -> None:
        """Finds hosts and addresses, and writes them. `wait` says whether to go on. Raises Unmet, OSError."""
        began = time.monotonic()
        clock = self.errands.begin(job.question(self._known["job"]), _ASKING)
        names = self._hosts(wait)
        wanted = len(self._bound.nodes)
        if len(names) < wanted:
            raise Unmet("job %s has %d nodes, the plan wants %d" % (self._known["job"], len(names), wanted))
        names = names[:wanted]
        self._known.update({"host%d" % number: name for number, name in enumerate(names)})
        prepare.meet(self._run, self._known, names)
        self._bound = job.bind_known(self._bound, self._known)
        told = self._facts(names, wait)
        self._known.update({"ip%d" % number: node["ip"] or "" for number, node in enumerate(told)})
        prepare.meet(self._run, self._known, names, told)
        self._journal.note("facts", nodes=told)
        self._finish([clock], wait)
        self._limit = _later(began, job.left(clock.out))
        found: List[str] = []
        for number, node in enumerate(told):
            want = self._bound.nodes[number]
            found += facts.faults(node, self._bound.arch, want.gpus)
            if want.cpus > node["cpus"]:
                self._journal.note("few-cpus", node=node["node"], cpus=node["cpus"], planned=want.cpus)
        found += facts.absent(told)
        if found:
            raise Unfit("; ".join(found))

    def why(self, blamed: Verdict, wait: Wait, *, signalled: bool = False) -> Verdict:
        """The verdict when a step has ended or a signal came (`blamed` says so): often Slurm was before it."""
        asked = self._do(job.question(self._known["job"]), _ASKING, wait)
        for _ in range(_AGAIN):
            if asked.exit == 0:
                break
            # When Slurm ends a job it signals everything in the batch step, this question too.
            asked = self._do(job.question(self._known["job"]), _ASKING, wait)
        self._journal.note("slurm", exit=asked.exit, said=asked.out.strip() or asked.err.strip())
        found = job.why(self._known["job"], asked.out, self._script.budgets.stop if signalled else None)
        return found or blamed

    def late(self, wait: Wait) -> Optional[Verdict]:
        """The verdict once what is left before the time limit is needed to end the run; None before.

        Slurm's warning comes earlier, but it may have come before anybody listened, and inside an allocation that was
        there before there is none. The limit may have been changed meanwhile: Slurm is asked again.
        """
        began = time.monotonic()
        if self._limit is None or began < self._limit - self._script.budgets.stop:
            return None
        asked = self._do(job.question(self._known["job"]), _ASKING, wait)
        self._journal.note("slurm", exit=asked.exit, said=asked.out.strip() or asked.err.strip())
        self._limit = _later(began, job.left(asked.out)) if asked.exit == 0 else self._limit + _ASKING
        over = self._limit is not None and began >= self._limit - self._script.budgets.stop
        return job.timeout(self._known["job"]) if over else None

    def dismissal(self, wait: Wait, urged: Callable[[], bool]) -> Dismissal:
        """What ends the steps."""
        self.errands.halt()
        return Dismissal(self._bound, self._known["id"], self.errands, self._journal, wait, urged)

    def orphan(self, name: str) -> None:
        """Notes that the `srun` of a child was killed: its step may go on, and has to be ended."""
        self._orphans.append(name)

    def collect(self, gone: Mapping[int, int]) -> None:
        """Takes note of errands among `gone`, and ends steps that outlived their `srun`s."""
        self.errands.collect(gone)
        if self._looking is None and self._orphans:
            self._looking = self.errands.begin(self._bound.steps, _ASKING)
        elif self._looking is not None and self._looking.exit is not None:
            found = steps.ids(steps.of(self._known["id"], self._looking.out), self._orphans)
            self._looking, self._orphans = None, []
            if found:
                self.errands.begin((*self._bound.kill, *found), _ASKING)

    def _hosts(self, wait: Wait) -> List[str]:
        asked = [self.errands.begin(words, _ASKING) for words in job.hostnames(job.nodelists(self._environ))]
        self._finish(asked, wait)
        for errand in asked:
            if errand.exit != 0:
                raise Unmet("the nodes of job %s cannot be told: %s" % (self._known["job"], errand.reason))
        return [name for errand in asked for name in errand.out.split()]

    def _facts(self, names: Sequence[str], wait: Wait) -> List[Mapping[str, Any]]:
        asked = self._do(self._bound.facts, _FACTS, wait)
        told = {str(node["node"]): node for node in _objects(asked.out)}
        silent = [name for name in names if name not in told]
        if silent:
            raise Unmet("%s did not answer the first step: %s" % (", ".join(silent), asked.reason))
        return [told[name] for name in names]

    def _do(self, words: Sequence[str], patience: float, wait: Wait) -> Errand:
        errand = self.errands.begin(words, patience)
        self._finish([errand], wait)
        return errand

    def _finish(self, errands: Sequence[Errand], wait: Wait) -> None:
        while any(errand.exit is None for errand in errands):
            if not wait(_PAUSE):
                self.errands.halt()
                raise Unmet("it was ended meanwhile")


def _later(moment: float, left: Optional[float]) -> Optional[float]:
    return None if left is None else moment + left


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of the lines; other lines (banners of a site) are passed over."""
    for line in text.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and "node" in found:
            yield found
