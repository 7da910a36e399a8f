"""A program that bakes, on a node or here, and its job."""

import contextlib
import math
import os
import re
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from launcher.execute.images import following
from launcher.execute.images.failure import Failure
from launcher.execute.images.place import OWN, SLURM, unmade
from launcher.execute.slurm import queue
from launcher.execute.told import Told
from launcher.execute.world import World
from launcher.model import timelimit

_ENDED = re.compile("TIME LIMIT|oom|out of memory|CANCELLED|revoked", re.IGNORECASE)
_ENDS: following.Ends = ((0, 1.0), (signal.SIGTERM, 30.0), (signal.SIGKILL, None))
"""`srun` whose job is gone ends by itself, others on TERM."""
_GONE = 120.0


@dataclass(frozen=True)
class Ended:
    """How a program ended, and its last lines."""

    exit: int
    lines: Sequence[str]


@contextlib.contextmanager
def limited(seconds: float, end: Callable[[], None]) -> Iterator[None]:
    """Calls `end`, which has what is done here end, after so many seconds, and raises Failure then."""
    late = threading.Event()

    def over() -> None:
        late.set()
        with contextlib.suppress(Failure):
            end()

    timer = threading.Timer(seconds, over)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Failure:
        if not late.is_set():
            raise
    finally:
        timer.cancel()
        timer.join()
    if late.is_set():
        message = f"the preamble has not ended after {timelimit.spelt(math.ceil(seconds))}, and was ended"
        raise Failure("faulty", message, "`--timeout` gives it longer")


def run(
    argv: Sequence[str],
    env: Mapping[bytes, bytes],
    hear: Told,
    end: Callable[[], None],
    limit: float | None = None,
) -> Ended:
    """Runs it to its end; `hear` is told every line, `end` ends it gently where we are ended. It may take `limit`
    seconds. Raises Failure.
    """
    try:
        process = following.begin(argv, env)
    except FileNotFoundError:
        kind, advice = ("slurm", "start on a login node") if argv[0] == "srun" else ("faulty", None)
        raise Failure(kind, f"`{argv[0]}` cannot be run: it is not on PATH", advice) from None  # type: ignore[arg-type]
    kept: deque[str] = deque(maxlen=following.KEPT)
    try:
        with limited(limit, lambda: following.end(process, _ENDS)) if limit is not None else contextlib.nullcontext():
            for line in following.lines(process):
                kept.append(line)
                hear(line)
            process.wait()
        return Ended(process.returncode, tuple(kept))
    finally:
        if process.poll() is None:
            end()
            following.end(process, _ENDS)
        if process.stdout is not None:
            process.stdout.close()


def cancel(world: World, name: str) -> None:
    """Ends this user's jobs of the name and waits until they are gone: pyxis saves even what was killed.

    They get TERM, and KILL only after Slurm's KillWait; a TERM to `srun` itself would be a KILL at once.
    """
    listed = ("squeue", "--noheader", f"--user={os.geteuid()}", f"--name={name}", "--format=%i")
    if not queue.ask(world, listed).out.strip():
        return
    queue.ask(world, ("scancel", f"--user={os.geteuid()}", f"--name={name}"))
    until = world.monotonic() + _GONE
    while queue.ask(world, listed).out.strip() and world.monotonic() < until:
        world.pause(0.5)


def refused(said: Sequence[str], *, begun: bool) -> None:
    """Raises Failure of kind `slurm` where Slurm did not start the job, or ended what had `begun`."""
    slurm = [line for line in said if SLURM.match(line) and not OWN.search(line)]
    if begun:
        slurm = [line for line in slurm if _ENDED.search(line)]
    if slurm and not any("pyxis" in line for line in slurm):
        raise unmade(slurm, "\n".join(line for line in said if not SLURM.match(line)))


def hidden(line: str, secrets: Sequence[str]) -> str:
    """A line that people may read: without what came from the submitting shell by name."""
    for secret in sorted(secrets, key=len, reverse=True):
        line = line.replace(secret, "***")
    return line
