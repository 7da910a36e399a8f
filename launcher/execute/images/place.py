"""Where image files are made: on this machine, or in a small Slurm job without GPUs.

Programs that take long, and what they say meanwhile. Whatever ends us ends them and the job too; of a sudden death
they know nothing, so they hold the lock of what they work on until they end themselves.
"""

import contextlib
import os
import re
import signal
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from launcher.execute.images import following
from launcher.execute.images.failure import Failure
from launcher.execute.slurm import queue, refusal
from launcher.execute.told import Told
from launcher.execute.world import Ran, World
from launcher.model import timelimit
from launcher.model.cluster import Cluster
from launcher.model.option import queued

_GRACE = 10.0
_STOP: following.Ends = ((signal.SIGTERM, _GRACE), (signal.SIGKILL, _GRACE))
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""What programs need to reach registries where a site has them go through a proxy."""


SLURM = re.compile(r"srun: |slurmstepd")
OWN = re.compile(r"Exited with exit code \d+$|^srun: job \d+ ")
"""Lines of Slurm, and those among them that tell of no failure of its own."""


class Place(Protocol):
    """Runs programs that make image files."""

    def run(self, words: Sequence[str], env: Mapping[str, str], told: Told, lock: int) -> Ran:
        """Runs a program to its end, however long it takes; `out` of what is returned are its last lines.

        `env` are variables of its own. `told` hears each line, the program holds the file descriptor `lock`. Raises
        Failure and OSError.
        """


@dataclass(frozen=True)
class Here:
    """Runs them on this machine."""

    world: World

    def run(self, words: Sequence[str], env: Mapping[str, str], told: Told, lock: int) -> Ran:
        """As `Place` says."""
        return run(words, {**self.world.environ, **env}, told, lock)


@dataclass(frozen=True)
class Job:
    """One node of the cluster; `name` is the job's, `python` the nodes'."""

    world: World
    cluster: Cluster
    name: str

    @property
    def python(self) -> str:
        """Of the nodes, 3.9 or newer."""
        return self.cluster.python

    def run(self, words: Sequence[str], env: Mapping[str, str], told: Told, lock: int) -> Ran:
        """As `Place` says. Raises Failure of kind `slurm` where there is no job, or it ended before its program."""
        own = {name: self.world.environ[name] for name in _PROXIES if name in self.world.environ}
        given = {**queue.environment(self.world.environ), **own, **env}
        ended = False
        try:
            ran = run((*srun(self.world, self.cluster, self.name), "--", *words), given, told, lock)
            ended = True
        except FileNotFoundError:
            raise Failure("slurm", "`srun` cannot be run: it is not on PATH", "start on a login node") from None
        finally:
            if not ended:
                self._cancel()
        lines = ran.out.splitlines()
        said = [line for line in lines if SLURM.match(line) and not OWN.search(line)]
        rest = "\n".join(line for line in lines if not SLURM.match(line))
        if ran.exit != 0 and said:
            raise unmade(said, rest)
        return Ran(ran.exit, rest)

    def _cancel(self) -> None:
        # `srun` cancels its job as it ends; one that had to be killed does not.
        with contextlib.suppress(OSError):
            words = ("scancel", "--quiet", f"--name={self.name}", f"--user={os.geteuid()}")
            self.world.run(words, queue.environment(self.world.environ), _GRACE)


def srun(world: World, cluster: Cluster, name: str) -> Iterator[str]:
    """A job of its own, or a step of the allocation that is there already; no GPUs are asked for."""
    yield from ("srun", "--nodes=1", "--ntasks=1", "--input=none", f"--job-name={name}")
    if (job := world.environ.get("SLURM_JOB_ID")) is not None:
        yield from (f"--jobid={job}", "--overlap", "--cpu-bind=none")
        return
    own, site = cluster.store.job if cluster.store else None, cluster.slurm
    if own is None:
        yield from queued(site)
    else:
        there = {"partition": own.partition or site.partition, "qos": own.qos or site.qos}
        yield from queued(site.model_copy(update=there))
        yield from (f"--cpus-per-task={own.cpus}", f"--mem={own.memory}")
        yield f"--time={timelimit.spelt(timelimit.seconds(own.time))}"


_ENDS = (
    ("TIME LIMIT", "reached its time limit", "`[store.job] time` asks for more"),
    ("oom|out of memory", "ran out of memory", "`[store.job] memory` asks for more"),
    ("CANCELLED|revoked|terminated|aborted", "was cancelled", "`squeue` and `sinfo` say more"),
)


def unmade(said: Sequence[str], own: str) -> Failure:
    """What Slurm `said` of a job that failed, with the program's own last line."""
    text = "\n".join(said)
    for pattern, what, advice in _ENDS:
        if re.search(pattern, text, re.IGNORECASE):
            return Failure("slurm", f"the job that makes the image {what}", advice)
    last = own.strip().splitlines()[-1:]
    what = "; ".join((refusal.words(text)[0], *last))
    return Failure("slurm", f"the job that makes the image failed: {what}", refusal.advice(text))


def run(words: Sequence[str], env: Mapping[str, str], told: Told, lock: int) -> Ran:
    """Runs a program to its end; no other of its processes outlives us. Raises OSError."""
    process = following.begin(words, env, (lock,))
    kept: deque[str] = deque(maxlen=following.KEPT)
    try:
        for line in following.lines(process):
            kept.append(line.strip())
            told(line.strip())
        return Ran(process.wait(), "\n".join(kept))
    finally:
        if process.stdout is not None:
            process.stdout.close()
        if process.poll() is None:
            following.end(process, _STOP)
