"""Runs on this machine: started detached, watched by their journal, stopped by a signal to their keeper."""

import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from types import MappingProxyType

from launcher.execute.enter import enter
from launcher.execute.journal import ARCHIVE, Run, budget, claim_stop, refusal
from launcher.execute.journal import script as read_script
from launcher.execute.status import Tail
from launcher.execute.world import World
from launcher.run import lock
from launcher.run.child import inherited
from launcher.run.script import Script
from launcher.run.sweep import VARIABLE
from launcher.run.words import DETACH, LOG

_ADDRESS = IPv4Address("127.0.0.1")
_START = 30.0
_PAUSE = 0.05
_UNHEARD = 2.0
_MARGIN = 30.0


def slots(world: World, script: Script) -> Mapping[str, str]:
    """Late references of a run on this machine, `run` aside: every node is a loopback address of its own.

    All of 127.0.0.0/8 is this machine's, so what listens on node 1 is in nobody's way on node 0.
    """
    known = {"python": sys.executable, "path": world.environ.get("PATH", os.defpath)}
    numbers = ((name, name.removeprefix("ip").removeprefix("host")) for name in script.slots)
    hosts = {name: str(_ADDRESS + int(number)) for name, number in numbers if number.isdecimal()}
    return {**hosts, **{name: value for name, value in known.items() if name in script.slots}}


def start(world: World, run: Run, script: Script, more: Mapping[str, str] = MappingProxyType({})) -> tuple[int, ...]:
    """Starts the keeper in a session of its own; returns its pid and start time when it holds the lock. Raises Refused
    with exit 1.

    Its environment is the Script's allow-list, the variables its children name in `env_from`, the run, and `more`.
    """
    words = (sys.executable, "-I", str(run.path / ARCHIVE), DETACH, str(run.path))
    try:
        ran = world.run(words, {**environment(world.environ, run.path, script), **more}, _START)
    except OSError as error:
        raise refusal("run-start", f"the supervisor cannot be started: {error}") from error
    if ran.exit != 0:
        reason = ran.err.strip().splitlines() or [f"exit code {ran.exit}"]
        raise refusal("run-start", f"the supervisor did not start: {reason[-1]}")
    return tuple(map(int, ran.out.split()))


def environment(environ: Mapping[str, str], run: Path, script: Script) -> dict[str, str]:
    """The keeper's environment: nothing of the shell's but what the Script lets through by name."""
    wanted = {name for child in script.children for name in child.env_from}
    raw = {os.fsencode(name): os.fsencode(value) for name, value in environ.items()}
    found = inherited((*script.inherit, *sorted(wanted)), raw)
    return {os.fsdecode(name): os.fsdecode(value) for name, value in found.items()} | {VARIABLE: str(run)}


def stop(world: World, run: Run, by: str = "down", hasten: bool = False) -> None:
    """Ends the run and returns when nothing of it is left; a run that has ended is no error.

    `by` (`down`, `SIGINT`, `SIGTERM`, `SIGHUP`) decides the run's exit code unless somebody asked before.
    With `hasten` its steps are killed at once. Raises Refused with exit 1 for a run on another machine.
    """
    path = str(run.path)
    if lock.held(path):
        _refuse_elsewhere(run)
        _ask(world, run, by, hasten)
        if not _wait_for_end(world, run):
            _kill(world, run)
    left = world.sweep(run.path)
    if left:
        raise refusal("run-left", f"processes that cannot be killed: {', '.join(map(str, left))}")


def _refuse_elsewhere(run: Run) -> None:
    holder = lock.holder(str(run.path))
    if holder is not None and holder.host != os.uname().nodename:
        raise refusal("run-elsewhere", f"`{run.name}` runs on `{holder.host}`", "stop it there")


def _ask(world: World, run: Run, by: str, hasten: bool) -> None:
    first = True
    # A run directory that cannot be written: the signal says enough to end the run.
    with contextlib.suppress(OSError):
        first = claim_stop(run, by)
    if first or hasten:
        _signal(world, run, signal.SIGTERM)


def _signal(world: World, run: Run, number: int) -> None:
    holder = lock.holder(str(run.path))
    if holder is not None and world.alive(holder.pid, holder.born):
        world.signal(holder.pid, number)


def _wait_for_end(world: World, run: Run) -> bool:
    """False when the run goes on long after its own bounds. Whoever asked first may have died before the
    signal: a run that has not heard of its end is told again.
    """
    begun = world.monotonic()
    deadline = begun + budget(run) + _MARGIN
    tail = Tail(run)
    heard = told = False
    while lock.held(str(run.path)):
        heard = heard or any(event["event"] == "stop" for event in tail.read())
        moment = world.monotonic()
        if moment > deadline:
            return False
        if not heard and not told and moment > begun + _UNHEARD:
            told = True
            _signal(world, run, signal.SIGTERM)
        world.pause(_PAUSE)
    return True


def _kill(world: World, run: Run) -> None:
    """Keeper and supervisor hang: both by force, what is below them by the sweep."""
    for event in Tail(run).read():
        if event["event"] == "begin":
            supervisor, born = int(event["pid"]), int(event["born"])
            if world.alive(supervisor, born):
                world.signal(supervisor, signal.SIGKILL)
    _signal(world, run, signal.SIGKILL)


@dataclass
class Local:
    """Runs of this machine, as the verbs ask of them."""

    world: World
    detaches: bool = False
    log: str = LOG
    _keepers: dict[Path, tuple[int, ...]] = field(default_factory=dict)

    def adopt(self, plan: str) -> None:
        """A run of this machine that was never started stays so."""

    def start(self, run: Run) -> None:
        """Starts the run's keeper. Raises Refused with exit 1."""
        self._keepers[run.path] = start(self.world, run, read_script(run))

    def live(self, run: Run) -> bool:
        """Whether keeper or supervisor live; of a run started here also where its lock has vanished meanwhile."""
        try:
            held = lock.held(str(run.path))
        except OSError:
            held = False
        keeper = self._keepers.get(run.path)
        if held or not keeper or (run.path / lock.FILE).exists():
            return held
        return self.world.alive(*keeper)

    def waiting(self, run: Run) -> None:
        """Nothing keeps a run of this machine from beginning."""

    def job(self, run: Run) -> str | None:
        """There is none."""
        return None

    def stop(self, run: Run, by: str = "down", hasten: bool = False) -> None:
        """Ends the run; see `stop`."""
        stop(self.world, run, by, hasten)

    def left(self, runs: Sequence[Run]) -> Mapping[Path, Sequence[int | str]]:
        """Pids of what the runs of this machine left; one look at all processes serves them all."""
        here = os.uname().nodename
        holders = {run.path: lock.holder(str(run.path)) for run in runs}
        return self.world.left([path for path, holder in holders.items() if holder is None or holder.host == here])

    def held(self, run: Run) -> bool:
        """False: nothing outlives such a run for others to use."""
        return False

    def enter(self, run: Run, name: str, words: list[str]) -> None:
        """Becomes `words` in the step; see `enter`."""
        enter(run, name, words)
