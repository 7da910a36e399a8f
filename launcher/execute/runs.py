"""What verbs ask of a run, whoever schedules it: one protocol, and a table of those that fulfil it."""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from launcher.execute.journal import Run
from launcher.execute.world import World

INTENT = "submission.json"
"""In the run directories of jobs alone: the words of their submission."""

WITHIN = "allocation.json"
"""In the run directories of runs inside an allocation that was there before them."""


class Runs(Protocol):
    """Runs of one kind. `detaches` says whether a run goes on when whoever follows it leaves, `log` where in the run
    directory stands what no step wrote: words of the supervisor that failed, and of Slurm about the job.
    """

    @property
    def detaches(self) -> bool:
        """Whether Ctrl-C and a hang-up leave the run going."""

    @property
    def log(self) -> str:
        """The path in the run directory of what was said beside the steps."""

    def adopt(self, plan: str) -> Run | None:
        """A run of the plan (the text of its `plan.json`) that was written and whose start was cut short."""

    def start(self, run: Run) -> str | None:
        """Starts what the run directory holds; returns what there is to say. Raises Refused."""

    def live(self, run: Run) -> bool:
        """Whether the run is about to begin or goes on; asked often."""

    def waiting(self, run: Run) -> str | None:
        """What a run waits for that has not begun, or is suspended."""

    def job(self, run: Run) -> str | None:
        """The Slurm job of the run."""

    def stop(self, run: Run, by: str = "down", hasten: bool = False) -> None:
        """Ends the run and returns when nothing of it is left; one that has ended is no error. Raises Refused."""

    def left(self, runs: Sequence[Run]) -> Mapping[Path, Sequence[int | str]]:
        """What lives of runs that have neither keeper nor supervisor: pids of processes, ids of steps."""

    def held(self, run: Run) -> bool:
        """Whether the run has ended and its job is kept for others."""

    def enter(self, run: Run, name: str, words: list[str]) -> None:
        """Becomes `words` in the step `name`. Returns never; raises Refused, OSError."""


SCHEDULERS: Mapping[str, tuple[str, str]] = {
    "local": ("launcher.execute.local", "Local"),
    "slurm": ("launcher.execute.slurm.runs", "Slurm"),
    "allocation": ("launcher.execute.slurm.within", "Within"),
}
"""Kind of runs → module and class, imported when there is such a run."""


class Kinds:
    """The kinds of runs, each made once: what it knows of its scheduler serves all its runs."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._made: dict[str, Runs] = {}

    def of(self, run: Run) -> Runs:
        """The kind of a run."""
        return self.named(_kind(run))

    def left(self, runs: Sequence[Run]) -> Mapping[Path, Sequence[int | str]]:
        """What lives of runs that have neither keeper nor supervisor; every kind is asked once."""
        kinds = {run.path: _kind(run) for run in runs}
        found: dict[Path, Sequence[int | str]] = {}
        for kind in {*kinds.values()}:
            found |= self.named(kind).left([run for run in runs if kinds[run.path] == kind])
        return found

    def named(self, scheduler: str) -> Runs:
        """The kind of that name."""
        if scheduler not in self._made:
            module, name = SCHEDULERS[scheduler]
            made: Runs = getattr(importlib.import_module(module), name)(self._world)
            self._made[scheduler] = made
        return self._made[scheduler]


def _kind(run: Run) -> str:
    if submitted(run.path):
        return "slurm"
    return "allocation" if (run.path / WITHIN).exists() else "local"


def submitted(path: Path) -> bool:
    """Whether the run directory is one of a job."""
    return (path / INTENT).exists()
