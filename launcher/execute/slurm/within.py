"""Runs inside an allocation that is there already (`salloc`, a job that was held): nothing is submitted.

The keeper runs on this machine, as for a run of this machine alone; its steps are on the allocation's nodes.
"""

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from launcher.execute import local
from launcher.execute.journal import Run, refusal, unreadable
from launcher.execute.journal import script as read_script
from launcher.execute.local import Local
from launcher.execute.runs import WITHIN
from launcher.execute.slurm import queue
from launcher.execute.slurm.enter import enter
from launcher.execute.slurm.refusal import refused
from launcher.execute.world import World
from launcher.run import files, steps
from launcher.text.diagnostic import Diagnostic, Refused

_FORMAT = "--format=%i|%A|%T|%D|%N|%U|%u"
_PAUSE = 0.2
_ENDING = 90.0
_BARS = _FORMAT.count("|")
_UNKNOWN = "Invalid job id specified"
_STEPS = ("squeue", "--steps", "--noheader", "--format=%i %j")

VARIABLE = "SLURM_JOB_ID"
"""What names the allocation that a shell is in."""


@dataclass(frozen=True)
class Allocation:
    """An allocation that runs: `sizes` are how many nodes its components have, `variables` what its batch script would
    have.
    """

    job: str
    sizes: tuple[int, ...]
    variables: Mapping[str, str]

    @property
    def nodes(self) -> int:
        """How many nodes it has in all."""
        return sum(self.sizes)


def find(world: World, job: str, wanted: int, source: str = "--in") -> Allocation:
    """The allocation that `source` (`--in`, `SLURM_JOB_ID`) names. Raises Refused, exit 5, for one that does not run,
    is another user's, or has fewer nodes than `wanted`.
    """
    rows = _asked(world, job, source)
    found = read(rows)
    if found is not None and found.job != job:
        # Of a component Slurm tells that component alone; of the leader all.
        rows = _asked(world, found.job, source)
        found = read(rows)
    if found is None:
        states = "it has ended" if not rows else f"it is {rows[0][2]}"
        raise _idle(job, states, source)
    uid, owner = rows[0][5:]
    if os.geteuid() not in (0, int(uid)):
        message = f"job {job}, which `{source}` names, is `{owner}`'s"
        raise _unfit(message, "`squeue --me` lists your jobs; `--in new` submits a job of its own")
    if found.nodes < wanted:
        what = f"job {job} has {found.nodes} node{'s' * (found.nodes != 1)}, the plan wants {wanted}"
        raise _unfit(what, "`launch plan` shows what is on which node; `--in new` submits a job of its own")
    return found


def _asked(world: World, job: str, source: str) -> Sequence[Sequence[str]]:
    ran = queue.ask(world, ("squeue", "--noheader", f"--jobs={job}", _FORMAT))
    if ran.exit == 0:
        return rows(ran.out)
    if _UNKNOWN in ran.err:
        raise _idle(job, "Slurm knows no such job (any more)", source)
    raise refused(ran.err)


def rows(text: str) -> Sequence[Sequence[str]]:
    """What `squeue` printed of a job, a row for each component, in order."""
    return sorted((line.split("|") for line in text.splitlines() if line.count("|") == _BARS), key=_offset)


def read(rows: Sequence[Sequence[str]]) -> Allocation | None:
    """The allocation of which these are the components; None unless it runs."""
    if not rows or any(row[2] != "RUNNING" for row in rows):
        return None
    leader = rows[0][0].partition("+")[0]
    variables = {"SLURM_JOB_ID": leader, "SLURM_JOB_NODELIST": rows[0][4]}
    if len(rows) > 1:
        variables["SLURM_HET_SIZE"] = str(len(rows))
        for number, row in enumerate(rows):
            variables |= {
                f"SLURM_JOB_ID_HET_GROUP_{number}": row[1],
                f"SLURM_JOB_NODELIST_HET_GROUP_{number}": row[4],
            }
    return Allocation(leader, tuple(int(row[3]) for row in rows), variables)


def _offset(row: Sequence[str]) -> tuple[int, str]:
    number = row[0].rpartition("+")[2] if "+" in row[0] else ""
    return (int(number) if number.isdecimal() else 0), row[0]


def documents(path: Path, found: Allocation) -> Mapping[str, bytes]:
    """The file that makes a run directory one of such a run."""
    return {WITHIN: files.as_json({"job": found.job, "variables": dict(found.variables)})}


@dataclass
class Within(Local):
    """Such runs, as the verbs ask of them. They end with whoever follows them, as runs of this machine do."""

    def start(self, run: Run) -> None:
        """Starts the run's keeper with what it has to know of the job. Raises Refused with exit 1."""
        local.start(self.world, run, read_script(run), _told(run)["variables"])

    def job(self, run: Run) -> str | None:
        """The job that the run is in."""
        return str(_told(run)["job"])

    def stop(self, run: Run, by: str = "down", hasten: bool = False) -> None:
        """Ends the run, and its steps where nobody else could. Raises Refused."""
        local.stop(self.world, run, by, hasten)
        begun = self.world.monotonic()
        left = self._steps(run)
        if left:
            queue.ask(self.world, ("scancel", *left))
        while left and self.world.monotonic() < begun + _ENDING:
            self.world.pause(_PAUSE)
            left = self._steps(run)
        if left:
            raise refusal("run-left", f"steps that do not end: {', '.join(left)}", "`squeue --me --steps` lists them")

    def left(self, runs: Sequence[Run]) -> Mapping[Path, Sequence[int | str]]:
        """Processes of this machine, and steps in the allocations."""
        processes = super().left(runs)
        if not runs:
            return processes
        # A cluster that cannot be asked just now: what is on this machine is known all the same.
        with contextlib.suppress(Refused):
            said = queue.ask(self.world, (*_STEPS, f"--user={os.geteuid()}")).out
            return {run.path: [*processes.get(run.path, ()), *_ids(run, said)] for run in runs}
        return processes

    def enter(self, run: Run, name: str, words: list[str]) -> None:
        """Becomes `words` in a step beside the step `name`. Returns never; raises Refused, OSError."""
        enter(self.world, run, name, words)

    def _steps(self, run: Run) -> Sequence[str]:
        ran = queue.ask(self.world, (*_STEPS, f"--jobs={self.job(run)}"))
        return _ids(run, ran.out)


def _ids(run: Run, said: str) -> Sequence[str]:
    return [step for ids in steps.of(run.name, said).values() for step in ids]


def _told(run: Run) -> Mapping[str, Mapping[str, str]]:
    try:
        found: Mapping[str, Mapping[str, str]] = json.loads((run.path / WITHIN).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise unreadable(run.path / WITHIN, error) from error
    return found


def _idle(job: str, why: str, source: str) -> Refused:
    new = "`--in new` submits a job of its own"
    advice = f"`squeue --me` lists your jobs; {new}"
    if source == VARIABLE:
        advice = f"{new}; a shell that outlived its allocation: `unset {VARIABLE}`"
    return _unfit(f"job {job}, which `{source}` names, does not run: {why}", advice)


def _unfit(message: str, advice: str) -> Refused:
    return Refused([Diagnostic("allocation-unfit", message, None, help=advice, exit=5)])
