"""How a run ended whose job is over and that wrote no outcome: its journal and Slurm together know."""

import contextlib
from collections.abc import Mapping
from typing import Any

from launcher.execute.journal import Run
from launcher.execute.slurm.reading import Job
from launcher.execute.status import Tail
from launcher.render.sbatch import LOG
from launcher.run import outcome
from launcher.run.excerpt import excerpt
from launcher.run.journal import now
from launcher.run.outcome import Verdict

_STATES: Mapping[str, tuple[str, int, str]] = {
    "CANCELLED": (outcome.CANCELLED, 7, "was cancelled"),
    "PREEMPTED": (outcome.CANCELLED, 7, "was preempted"),
    "TIMEOUT": (outcome.TIMEOUT, 7, "reached its time limit"),
    "DEADLINE": (outcome.TIMEOUT, 7, "reached its deadline"),
    "NODE_FAIL": (outcome.FAILED, 7, "lost a node (NODE_FAIL)"),
    "OUT_OF_MEMORY": (outcome.FAILED, 7, "ran out of memory"),
    "BOOT_FAIL": (outcome.FAILED, 7, "could not boot its nodes"),
    "LAUNCH_FAILED": (outcome.FAILED, 7, "could not be launched"),
}

# The "signal" of a batch script that slurmstepd could not start for want of its files.
_UNOPENED = 53
_LINES = 3


def settle(run: Run, job: Job | None, number: str) -> Mapping[str, Any]:
    """Writes the outcome that the run itself could not write, and returns it."""
    events = list(Tail(run).read())
    found = verdict(run, events, job, number)
    begun = next((event.get("at") for event in events), None)
    ready = next((event.get("after") for event in events if event["event"] == "ready"), None)
    told = outcome.compose(found, {"ready_after": ready, "started": begun, "ended": now()}, str(run.path))
    # A run directory that cannot be written: said again the next time.
    with contextlib.suppress(OSError):
        outcome.write(str(run.path), told)
    return told


def verdict(run: Run, events: list[Mapping[str, Any]], job: Job | None, number: str) -> Verdict:
    """What the supervisor had decided, else who asked, else what Slurm says."""
    stop = next((event for event in reversed(events) if event["event"] == "stop"), None)
    if stop is not None:
        return Verdict(stop["state"], stop["exit"], f"{stop['cause']} (the outcome was not written)", stop["first"])
    by = outcome.asked(str(run.path))
    if by is not None:
        return outcome.stopped(by)
    if job is None:
        return outcome.broken(f"job {number} has ended, and Slurm does not remember how{_said(run)}")
    if job.state in _STATES:
        state, code, what = _STATES[job.state]
        before = "" if events else " before the supervisor ran"
        return Verdict(state, code, f"job {number} {what}{before}")
    how = f"{job.state} ({_how(job)}){_said(run)}"
    return outcome.broken(f"the supervisor left no outcome: job {number} ended as {how}")


def _how(job: Job) -> str:
    if job.signal == _UNOPENED:
        return f"{job.exit}:{job.signal}, a node could not open its output file or working directory"
    return f"killed by signal {job.signal}" if job.signal else f"exit code {job.exit}"


def _said(run: Run) -> str:
    """The last words of the batch script, and of what it became."""
    lines = excerpt(str(run.path / LOG)).last_lines[-_LINES:]
    return f": {'; '.join(line.strip() for line in lines)}" if lines else ""
