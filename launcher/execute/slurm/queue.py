"""Asking Slurm about jobs: by id, by comment, all of this user's at once."""

import os
from collections.abc import Mapping, Sequence

from launcher.execute.slurm import reading
from launcher.execute.slurm.reading import Job
from launcher.execute.slurm.refusal import Silent, absent, silent
from launcher.execute.world import Ran, World
from launcher.text.diagnostic import Refused

_PATIENCE = 60.0
_INHERIT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "SLURM_CONF", "LANG")


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What Slurm's programs get: SQUEUE_FORMAT, SLURM_CLUSTERS and their like would change what they do."""
    return {name: environ[name] for name in _INHERIT if name in environ}


def ask(world: World, words: Sequence[str], patience: float = _PATIENCE) -> Ran:
    """A program of Slurm, run to its end. Raises Refused with exit 5 where it cannot be run."""
    try:
        return world.run(words, environment(world.environ), patience)
    except TimeoutError as error:
        raise silent(words[0], patience) from error
    except OSError as error:
        raise absent(words[0], (error.strerror or str(error)).lower()) from error


def mine(world: World) -> Sequence[Job] | None:
    """The jobs of this user that have not ended; None where Slurm does not answer. Raises Refused as `ask` does."""
    try:
        ran = ask(world, ("squeue", "--noheader", f"--user={os.geteuid()}", reading.JOBS))
    except Silent:
        return None
    return None if ran.exit else list(reading.jobs(ran.out))


def ended(world: World, job: str) -> Job | None:
    """How a job ended, of slurmctld while it remembers, else of the accounting; None where neither knows."""
    ran = ask(world, ("scontrol", "--oneliner", "show", "job", job))
    for found in reading.shown(ran.out) if ran.exit == 0 else ():
        return found
    try:
        ran = ask(world, ("sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={job}", reading.ACCOUNTED))
    except Refused:
        return None
    # A job whose nodes changed has several rows, its end in the last.
    return next(reversed(list(reading.accounted(ran.out))), None) if ran.exit == 0 else None
