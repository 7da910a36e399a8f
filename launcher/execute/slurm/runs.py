"""Runs of Slurm: submitted, watched by journal and queue, stopped through their supervisor."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from launcher.execute.journal import Run, budget, claim_stop, refusal
from launcher.execute.slurm import ending, queue, submit
from launcher.execute.slurm.enter import enter
from launcher.execute.slurm.reading import HALTED, OVER, WAITING, Job
from launcher.execute.status import Tail
from launcher.execute.world import World
from launcher.render.sbatch import LOG
from launcher.run import outcome

_EVERY = 1.0
_PAUSE = 0.1
_UNHEARD = 8.0
_MARGIN = 30.0
_TELLING = 20.0
_CANCELLING = 90.0


@dataclass
class Slurm:
    """Runs whose keeper is a job's batch script. The queue is asked at most once a second, for all runs at once."""

    world: World
    detaches: bool = True
    log: str = LOG
    _asked: float | None = None
    _jobs: dict[str, Job] | None = None

    def adopt(self, plan: str) -> Run | None:
        """A run of the plan whose `up` was killed before it knew of a job. Raises OSError."""
        return submit.adopt(self.world, plan)

    def start(self, run: Run) -> str:
        """Submits the run; returns what there is to say. Raises Refused with exit 5."""
        self._asked = None
        return f"submitted job {submit.submit(self.world, run)}"

    def live(self, run: Run) -> bool:
        """Whether the job waits or runs. Once it is over, the run has an outcome."""
        if outcome.read(str(run.path)) is not None:
            return False
        number = submit.find(self.world, run)
        if number is None:
            return False
        job = self._job(number)
        if job is None and self._jobs is not None:
            return self._over(run, number)
        return True

    def waiting(self, run: Run) -> str | None:
        """Why the job does not run yet, or not now; None while it does."""
        number = submit.known(run)
        job = self._job(number) if number is not None else None
        if job is not None and job.state in HALTED:
            return f"job {job.id} is {job.state.lower()}"
        if job is None or job.state not in WAITING:
            return None
        reason = f" ({job.reason})" if job.reason else ""
        start = f", expected to start at {job.start}" if job.start else ""
        return f"job {job.id} is {job.state.lower()}{reason}{start}"

    def job(self, run: Run) -> str | None:
        """The job's id."""
        return submit.known(run)

    def held(self, run: Run) -> bool:
        """Whether the run has ended and its job, which `--hold` keeps, goes on."""
        number = submit.known(run)
        if number is None or not submit.holds(run) or outcome.read(str(run.path)) is None:
            return False
        return self._job(number) is not None

    def stop(self, run: Run, by: str = "down", hasten: bool = False) -> None:
        """Ends the run and returns when its job is over, a held one too; one that has ended is no error. Raises
        Refused.
        """
        number = submit.find(self.world, run)
        if number is None or not self._queued(number):
            self.live(run)
            return
        # A run directory that cannot be written: the signal says enough to end the run.
        with contextlib.suppress(OSError):
            claim_stop(run, by)
        self._tell(run, number)
        if not hasten:
            self._await(run, number)

    def left(self, runs: Sequence[Run]) -> Mapping[Path, Sequence[int | str]]:
        """Nothing: with the batch script, Slurm ends all that there was."""
        return {}

    def enter(self, run: Run, name: str, words: list[str]) -> None:
        """Becomes `words` in a step beside the step `name`. Returns never; raises Refused, OSError."""
        enter(self.world, run, name, words)

    def _await(self, run: Run, number: str) -> None:
        begun = self.world.monotonic()
        limit = begun + budget(run) + _MARGIN
        tail = Tail(run)
        heard = told = forced = False
        while self._queued(number):
            heard = heard or any(event["event"] == "stop" for event in tail.read())
            moment = self.world.monotonic()
            if not heard and not told and moment > begun + _UNHEARD:
                # It may have been about to start when it was told.
                told = True
                self._tell(run, number)
            if moment > limit and not forced:
                forced, limit = True, moment + _CANCELLING
                self._cancel(number)
            elif moment > limit:
                raise refusal("run-left", f"job {number} does not end", f"`scontrol show job {number}` says how it is")
            self.world.pause(_PAUSE)
        self.live(run)

    def _tell(self, run: Run, number: str) -> None:
        """Tells the supervisor to end the run; cancels a job that has none, or whose supervisor cannot hear.

        What is sent to a job that was suspended meanwhile hangs (22.05), for as long as it is.
        """
        if self.waiting(run) is None:
            words = ("scancel", "--batch", "--signal=TERM", number)
            with contextlib.suppress(OSError):
                self.world.run(words, queue.environment(self.world.environ), _TELLING)
                return
        self._cancel(number)

    def _cancel(self, number: str) -> None:
        # Its exit code says nothing: 225 also where the signal was delivered (22.05).
        queue.ask(self.world, ("scancel", number))
        self._asked = None

    def _queued(self, number: str) -> bool:
        job = self._job(number)
        return job is not None or self._jobs is None

    def _job(self, number: str) -> Job | None:
        """The job in the queue; None where it is not, or (`_jobs` is None) Slurm does not answer."""
        moment = self.world.monotonic()
        if self._asked is None or moment >= self._asked + _EVERY:
            self._asked = moment
            found = queue.mine(self.world)
            self._jobs = None if found is None else {job.id: job for job in found if job.state not in OVER}
        return None if self._jobs is None else self._jobs.get(number)

    def _over(self, run: Run, number: str) -> bool:
        """The job has left the queue: it is asked how it ended where the run itself did not say. False."""
        if outcome.read(str(run.path)) is None:
            ended = queue.ended(self.world, number)
            if ended is not None and ended.state not in OVER:
                return True
            ending.settle(run, ended, number)
        return False
