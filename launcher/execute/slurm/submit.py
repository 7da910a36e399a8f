"""Submission that is neither lost nor doubled: the intent is on disk before `sbatch`, the job's id after.

`up` may be killed at any moment. What tells how far it came is in the run directory: `submission.json` (the intent),
`job.json` (the job). With the first alone, whoever comes next waits for the `submit.lock`, which `sbatch` itself
holds too, and asks Slurm for a job with the run's name as its comment.
"""

import contextlib
import dataclasses
import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launcher.execute.journal import PLAN, Run, refusal, remove, runs, unreadable
from launcher.execute.runs import INTENT, submitted
from launcher.execute.slurm import queue, reading
from launcher.execute.slurm.refusal import absent, refused, unsure
from launcher.execute.world import World
from launcher.plan.step import Batch
from launcher.render.sbatch import JOB, Submission
from launcher.run import files, proc
from launcher.run.child import inherited
from launcher.run.script import Script, bind
from launcher.run.sweep import VARIABLE
from launcher.run.words import HOLD
from launcher.text.diagnostic import Diagnostic, Refused, Severity

KNOWN = "job.json"
LOCK = "submit.lock"

_PATIENCE = 120.0
_LOOKS = 20
_PAUSE = 0.5
_GLANCE = 0.05
_ELSEWHERE = 600.0


@dataclass(frozen=True)
class Intent:
    """What is to be submitted: the words of `sbatch`, and the variables of the shell that it gets by name; `by` is
    the process that means to.
    """

    argv: Sequence[str]
    inherit: Sequence[str]
    env_from: Sequence[str]
    by: Mapping[str, Any]


def documents(run: Path, submission: Submission, script: Script, *, hold: bool) -> Mapping[str, bytes]:
    """The files that make a run directory one of a job; with `hold` the job outlives its run."""
    wanted = sorted({name for child in script.children for name in child.env_from})
    argv = bind(submission.argv, {"run": str(run), "id": run.name})
    content = {
        "argv": [*argv[:-1], *([HOLD] if hold else []), argv[-1]],
        "inherit": list(submission.inherit),
        "env_from": wanted,
        "by": _me(),
    }
    return {JOB: submission.script.encode("utf-8"), INTENT: files.as_json(content)}


def intent(run: Run) -> Intent | None:
    """The intent of the run directory; None for a run of this machine."""
    try:
        return Intent(**json.loads((run.path / INTENT).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise unreadable(run.path / INTENT, error) from error


def holds(run: Run) -> bool:
    """Whether the job outlives the run: it was submitted with `--hold`."""
    try:
        found = intent(run)
    except Refused:
        return False
    return found is not None and HOLD in found.argv


def known(run: Run) -> str | None:
    """The job's id, where it has been noted."""
    try:
        return str(json.loads((run.path / KNOWN).read_text(encoding="utf-8"))["job"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def note(run: Run, job: str) -> None:
    """Notes the job's id. Raises OSError."""
    files.write(str(run.path / KNOWN), files.as_json({"job": job}))


def adopt(world: World, plan: str) -> Run | None:
    """A run of that very plan whose `up` ended before it knew of a job: ours now. None where there is none.

    Raises OSError.
    """
    for run in runs(world):
        if submitted(run.path) and known(run) is None and (run.path / PLAN).read_bytes() == _bytes(plan):
            with _alone(world, run):
                wanted = intent(run)
                if wanted is not None and known(run) is None and not _lives(world, wanted.by):
                    mine = {**dataclasses.asdict(wanted), "by": _me()}
                    files.write(str(run.path / INTENT), files.as_json(mine))
                    return run
    return None


def tried(world: World, submission: Submission, where: Path, batch: Batch) -> Iterator[Diagnostic]:
    """`sbatch --test-only` with the words of the submission: raises Refused, exit 5, where Slurm says no.

    To Slurm (22.05) a job that has to wait for nodes that are down is one that no nodes could ever take: that is a
    warning here, since `sbatch` takes it.
    """
    options = submission.argv[: submission.argv.index(f"{submission.argv[-1]}/{JOB}")]
    argv = bind(options, {"run": str(where), "id": "test"})
    ran = queue.ask(world, (*argv, "--test-only", "--wrap=true"), _PATIENCE)
    if ran.exit == 0:
        return
    wanted = sum(each.nodes for each in batch.components)
    states = queue.ask(world, ("sinfo", "--all", "--noheader", reading.STATES))
    out, total = reading.lame(states.out, batch.partition)
    if "node configuration is not available" not in ran.err or not total - out < wanted <= total:
        raise refused(ran.err)
    yield Diagnostic(
        "nodes-down",
        f"{out} of the partition's {total} nodes are down or drained, and the job wants {wanted}",
        None,
        Severity.WARNING,
        help="the job waits until they are back: `sinfo -R` says why they are not",
    )


def submit(world: World, run: Run) -> str:
    """Submits the run's job unless that has been done, and returns its id. Raises Refused with exit 5.

    A run that Slurm refused leaves no run directory.
    """
    wanted = intent(run)
    if wanted is None:
        raise refusal("run-directory", f"`{run.name}` is no run of Slurm")
    with _alone(world, run) as handle:
        found = known(run) or _listed(world, run)
        if found is None:
            found = _sbatch(world, run, wanted, handle)
        note(run, found)
    return found


def find(world: World, run: Run) -> str | None:
    """The job of the run, noted or found by its comment; None where there is none."""
    found = known(run)
    if found is None:
        with _alone(world, run):
            found = known(run) or _listed(world, run)
            if found is not None:
                note(run, found)
    return found


@contextlib.contextmanager
def _alone(world: World, run: Run) -> Iterator[int]:
    """Holds the lock of the submission; waits for whoever submits just now, a left-over `sbatch` included."""
    handle = os.open(run.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while not _locked(handle):
            world.pause(_GLANCE)
        yield handle
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks: two of us at once have to be rare enough
    return True


def _listed(world: World, run: Run) -> str | None:
    """The id of a job with the run's name as its comment, in the queue or just ended."""
    ran = queue.ask(world, ("squeue", "--noheader", "--states=all", f"--user={os.geteuid()}", reading.JOBS))
    return next((job.id for job in reading.jobs(ran.out) if job.comment == run.name), None)


def _sbatch(world: World, run: Run, wanted: Intent, handle: int) -> str:
    raw = {os.fsencode(name): os.fsencode(value) for name, value in world.environ.items()}
    found = inherited((*wanted.inherit, *wanted.env_from), raw)
    env = {os.fsdecode(name): os.fsdecode(value) for name, value in found.items()} | {VARIABLE: str(run.path)}
    try:
        ran = world.run(wanted.argv, env, _PATIENCE, keep=(handle,))
    except TimeoutError as error:
        return _looked_for(world, run, str(error))
    except OSError as error:
        remove(world, run)
        raise absent(wanted.argv[0], (error.strerror or str(error)).lower()) from error
    job = reading.submitted(ran.out) if ran.exit == 0 else None
    if job is not None:
        return job
    if ran.exit == 0 or unsure(ran.err):
        return _looked_for(world, run, ran.err.strip() or ran.out.strip())
    remove(world, run)
    raise refused(ran.err)


def _me() -> Mapping[str, Any]:
    return {"pid": os.getpid(), "born": proc.born(os.getpid()), "host": os.uname().nodename, "at": time.time()}


def _lives(world: World, by: Mapping[str, Any]) -> bool:
    """Whether the process may still be about to submit; of one on another machine its age has to tell."""
    if by["host"] != os.uname().nodename:
        return world.now() < float(by["at"]) + _ELSEWHERE
    return world.alive(by["pid"], by["born"])


def _bytes(plan: str) -> bytes:
    return plan.encode("utf-8", "surrogateescape")


def _looked_for(world: World, run: Run, said: str) -> str:
    """`sbatch` failed without saying that Slurm refused: the job turns up, or nobody knows."""
    for _ in range(_LOOKS):
        found = _listed(world, run)
        if found is not None:
            return found
        world.pause(_PAUSE)
    raise Refused(
        [
            Diagnostic(
                "slurm-unsure",
                f"whether job `{run.name}` was submitted is not known: {said}",
                None,
                help=f"`launch up` of the same recipe goes on with it, `launch down {run.name}` ends it",
                exit=5,
            )
        ]
    )
