"""The supervisor: starts the children in order, waits for gates, notices the first end, and ends the rest."""

import os
import signal
import threading
import time
from typing import Dict, List, Optional

from launcher.run import blame, child, outcome, prepare, proc, sweep
from launcher.run.answers import RUN, Answers
from launcher.run.ask import Lost, News, Shut, ask
from launcher.run.child import Running
from launcher.run.farewell import farewell
from launcher.run.inbox import Inbox
from launcher.run.inside import Inside, Unmet
from launcher.run.journal import Journal, now
from launcher.run.lock import FILE
from launcher.run.outcome import Verdict
from launcher.run.rescue import Rescue
from launcher.run.roll import Roll
from launcher.run.script import Budgets, Child, Script
from launcher.run.teardown import Teardown
from launcher.run.turns import BENCHMARK, GATED, READY, STARTING, STOPPING, Turns

_TICK = 1.0


class Supervisor:
    """One run. `verdict` is set by the first thing that ends it and never changed afterwards."""

    def __init__(self, run: str, journal: Journal, inbox: Inbox, keeper: int) -> None:
        self.run = run
        self.journal = journal
        self.inbox = inbox
        self.keeper = keeper
        self.script: Optional[Script] = None
        self.inside: Optional[Inside] = None
        self.phase = STARTING
        self.verdict: Optional[Verdict] = None
        self.ready_after: Optional[float] = None
        self.running: Dict[str, Running] = {}
        self._began = time.monotonic()
        self._turns = Turns(())
        self._answers = Answers(journal, self._seconds)
        self._roll = Roll(journal)
        self._looked = self._began
        self._halt = threading.Event()
        self._asked_ready = False
        self._judging = False

    @property
    def orphaned(self) -> bool:
        """Whether the keeper is gone, so that its duties are ours."""
        return os.getppid() != self.keeper

    def end(self, verdict: Optional[Verdict]) -> None:
        """Ends the run for this reason, unless it is none or there is one already."""
        if verdict is not None and self.verdict is None:
            self.verdict = verdict
            self._halt.set()

    def work(self) -> None:
        """Prepares and watches the run until it has to end; the verdict says why."""
        try:
            self._meet()
            self.script = script = prepare.read(self.run)
        except Unmet as error:
            self._judge(error.verdict(str(error)))
            return
        except (OSError, ValueError) as error:
            self.end(outcome.broken("the script cannot be run: %s" % error))
            return
        try:
            me = os.getpid()
            self.journal.note("begin", name=script.name, url=script.url, pid=me, born=proc.born(me), keeper=self.keeper)
            prepare.write(self.run, script)
            self._watch(script)
        except OSError as error:
            named = ": '%s'" % error.filename if error.filename else ""
            reason = error.strerror or str(error)
            self.end(outcome.broken("the run directory cannot be written: %s%s" % (reason, named)))

    def stop(self) -> List[int]:
        """Ends every child; returns the pids of what would not die."""
        verdict = self.verdict or outcome.broken("the supervisor gave up")
        self.end(verdict)
        self._halt.set()
        self.phase = STOPPING
        # From here on the outcome matters more than a complete journal.
        self.journal.lenient = True
        self.journal.note("stop", state=verdict.state, cause=verdict.cause, exit=verdict.exit, first=verdict.first)
        for running in self.running.values():
            running.halt.set()
        budget = (self.script.budgets if self.script else Budgets()).stop
        if self.inside is not None:
            inbox = self.inbox
            self.inside.dismissal(self._quiet, lambda: inbox.urged).work(list(self.running.values()), budget)
        return Teardown(self.inbox, self.journal, self._collect).work(self.run, list(self.running.values()), budget)

    def _meet(self) -> None:
        """Inside a job: what only its nodes can tell. Raises Unmet, OSError, ValueError."""
        script = prepare.script(self.run)
        if script.allocation is not None:
            self.inside = Inside(self.run, script, script.allocation, self.journal)
            by = outcome.asked(self.run)
            if by is not None:
                # Asked for before anybody here could hear the signal.
                self.end(outcome.stopped(by))
            self.inside.meet(self._pause)
            self.end(self.inside.late(self._quiet))

    def _pause(self, seconds: float) -> bool:
        for number in self.inbox.get(seconds)[0]:
            self._signalled(number)
        self._collect()
        return not self._over()

    def _quiet(self, seconds: float) -> bool:
        """Waits and collects where the end is certain already."""
        self.inbox.get(seconds)
        self._collect()
        return True

    def _judge(self, blamed: Verdict, *, signalled: bool = False) -> None:
        """Ends the run; inside a job Slurm is asked first, which may have ended what seems to have ended itself."""
        if self.inside is None or blamed.by == "down":
            self.end(blamed)
        elif self.verdict is None and not self._judging:
            self._judging = True
            self.end(self.inside.why(blamed, self._quiet, signalled=signalled))

    def _watch(self, script: Script) -> None:
        self._turns = Turns(script.children)
        while not self._over():
            while self._start_free(script):
                pass
            self._advance(script)
            if self._over():
                break
            signals, news = self.inbox.get(self._patience(script))
            for number in signals:
                self._signalled(number)
            self._collect()
            for item in news:
                self._hear(item)
            self._look(script)

    def _over(self) -> bool:
        return self.verdict is not None

    def _start_free(self, script: Script) -> bool:
        free = self._turns.free()
        for step in free:
            if self.verdict is None:
                del self._turns.waiting[step.name]
                self._start(step, script)
        return bool(free) and self.verdict is None

    def _start(self, step: Child, script: Script) -> None:
        try:
            running = child.start(step, script, self.run)
        except child.Unstartable as error:
            self._unstartable(step, str(error))
            return
        self.running[step.name] = running
        self.journal.note("start", **child.told(running))
        if step.lasting and step.gates:
            ask(step.name, step.gates, running.halt, self.inbox.put)
        elif step.lasting:
            self._opened(step.name)

    def _unstartable(self, step: Child, reason: str) -> None:
        self.journal.note("unstartable", step=step.name, reason=reason)
        if step.critical:
            self.end(blame.unstartable(step, self.phase, reason))
        else:
            self._turns.open.add(step.name)

    def _advance(self, script: Script) -> None:
        if self.verdict is None and self.phase == STARTING and not self._turns.waiting:
            self._enter(GATED)
        if self.phase == GATED and not self._asked_ready and self._turns.all_open:
            self._asked_ready = True
            ask(RUN, script.ready, self._halt, self.inbox.put)

    def _enter(self, phase: str) -> None:
        self.phase = phase
        self.journal.note("phase", phase=phase)

    def _opened(self, step: str) -> None:
        self._turns.open.add(step)
        self._answers.opened(step)
        self.journal.note("gate-open", step=step, after=self._seconds())

    def _hear(self, item: News) -> None:
        running = self.running.get(item.step)
        if self.verdict is not None or (running is not None and running.status is not None):
            return
        if isinstance(item, Lost):
            self.end(outcome.broken("asking the gates of `%s` failed: %s" % (item.step, item.cause)))
        elif isinstance(item, Shut):
            self._answers.heard(item)
        elif item.step == RUN:
            self.phase = READY
            self._answers.opened(RUN)
            self.ready_after = self._seconds()
            self.journal.note("ready", after=self.ready_after)
            if self._turns.ready():
                self._enter(BENCHMARK)
        else:
            self._opened(item.step)

    def _collect(self) -> None:
        gone = sweep.reap()
        if self.inside is not None:
            self.inside.collect(gone)
        for running in list(self.running.values()):
            if running.pid in gone and running.status is None:
                self._ended(running, gone[running.pid])

    def _ended(self, running: Running, status: int) -> None:
        running.ended(status)
        step, how = running.child, outcome.ending(status)
        done = not step.lasting and how == {"exit": 0}
        if self.inside is not None and running.killed:
            self.inside.orphan(step.name)
        if self.verdict is None and step.critical and not done:
            self._judge(blame.ended(running, self.phase, how, self.run))
        self.journal.note("exit", step=step.name, after=self._seconds(), **how)
        if done and self.verdict is None and not step.benchmark:
            self._opened(step.name)
        # Nobody waits for what the run can do without.
        self._turns.open.add(step.name)
        if done and self._turns.finished:
            self.end(outcome.finished())

    def _signalled(self, number: int) -> None:
        if self.orphaned:
            self.end(outcome.broken("the keeper was killed"))
        else:
            self._judge(outcome.stopped(outcome.asked(self.run) or signal.Signals(number).name), signalled=True)

    def _look(self, script: Script) -> None:
        """What no signal tells: time, a lost keeper, a lost run directory."""
        moment = time.monotonic()
        if self.orphaned:
            self.end(outcome.broken("the keeper was killed"))
        elif self.phase in (STARTING, GATED) and moment - self._began > script.budgets.ready:
            self.end(self._expired(script))
        elif moment - self._looked > _TICK:
            self._looked = moment
            self._answers.tick()
            if not os.path.exists(os.path.join(self.run, FILE)):
                self.end(outcome.broken("the run directory has vanished"))
            if self.inside is not None:
                self.end(self.inside.late(self._quiet))
            else:
                self._roll.call([running.pid for running in self.running.values()])

    def _expired(self, script: Script) -> Verdict:
        budget = script.budgets.ready
        for step in script.children:
            running = self.running.get(step.name)
            if running is not None and step.name not in self._turns.open:
                return blame.expired(budget, step, running, self._answers.last(step.name), self.run)
        return blame.not_ready(budget, self._answers.last(RUN))

    def _patience(self, script: Script) -> float:
        if self.phase in (READY, BENCHMARK):
            return _TICK
        return min(_TICK, self._began + script.budgets.ready - time.monotonic())

    def _seconds(self) -> float:
        return round(time.monotonic() - self._began, 3)


def supervise(run: str, journal: Journal, keeper: int) -> int:
    """The whole life of the supervisor, in the process that the keeper forked; returns the exit code of the run."""
    started = now()
    inbox = Inbox()
    inbox.listen()
    proc.adopt_orphans()
    # A keeper that died before this call is noticed by `orphaned`.
    proc.signal_on_parents_death(signal.SIGTERM)
    supervisor = Supervisor(run, journal, inbox, keeper)
    rescue = Rescue()
    with rescue:
        supervisor.work()
    if rescue.cause:
        supervisor.end(outcome.broken("the supervisor failed: %s" % rescue.cause))
    left: List[int] = []
    with Rescue():
        left = supervisor.stop()
    verdict = supervisor.verdict or outcome.broken("the supervisor gave up")
    times = {"ready_after": supervisor.ready_after, "started": started, "ended": now()}
    with Rescue():
        outcome.write(run, outcome.compose(verdict, times, run, left))
    if supervisor.orphaned:
        farewell(run, journal, verdict)
    return verdict.exit
