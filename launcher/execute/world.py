"""The effects the command line needs, behind one small protocol: a real one, and one that records."""

import contextlib
import math
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, Protocol

from launcher.execute import interrupt
from launcher.run import proc, sweep

_LEAST = 2.0
_SUBMITTING = 2.0


@dataclass(frozen=True)
class Ran:
    """A program that ran to its end: exit code (negative: the signal) and what it printed."""

    exit: int
    out: str = ""
    err: str = ""


class World(Protocol):
    """What a command may do to the world beside reading and writing files."""

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment of this process."""

    def now(self) -> float:
        """Wall-clock time, seconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds on a clock that is never set."""

    def pause(self, seconds: float) -> None:
        """Waits. Raises KeyboardInterrupt where we are to leave."""

    def run(
        self,
        words: Sequence[str],
        env: Mapping[str, str] | None = None,
        patience: float = 60.0,
        keep: Sequence[int] = (),
    ) -> Ran:
        """Runs a program with no input and captures what it prints. Raises OSError, also after `patience` seconds.

        The program holds the file descriptors of `keep` as well. It ends with an interrupt, and KeyboardInterrupt is
        raised; one that holds something is left to go on by itself.
        """

    def alive(self, pid: int, born: int | None = None) -> bool:
        """Whether the process runs, and is the one that was born then (`proc.born`)."""

    def signal(self, pid: int, number: int) -> None:
        """Sends a signal; a process that has gone is no error."""

    def left(self, runs: Sequence[Path]) -> Mapping[Path, Sequence[int]]:
        """Pids of what each of the runs left behind."""

    def sweep(self, run: Path) -> Sequence[int]:
        """Kills what a run left behind; returns the pids of what would not die."""


@dataclass
class Real:
    """The world as it is; `environ` is what commands see of the environment. From `until` on, by the clock that is
    never set, no program is waited for.
    """

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    until: float = math.inf

    def now(self) -> float:
        """Wall-clock time, seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds on a clock that is never set."""
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        """Waits."""
        interrupt.heed()
        time.sleep(seconds)

    def run(
        self,
        words: Sequence[str],
        env: Mapping[str, str] | None = None,
        patience: float = 60.0,
        keep: Sequence[int] = (),
    ) -> Ran:
        """Runs a program with no input and captures what it prints. Raises OSError, also after `patience` seconds."""
        # One that answers at once has the time to, however late it is.
        patience = min(patience, max(self.until - self.monotonic(), _LEAST))
        process = subprocess.Popen(
            list(words),
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=keep,
            # Ctrl-C and hang-up of the terminal are ours to act on: a start or a submission is never cut in two.
            start_new_session=True,
        )
        try:
            out, err = _said(process, patience, _SUBMITTING if keep else 0.0)
        except TimeoutError as error:
            _end(process)
            raise TimeoutError(f"{words[0]} did not end within {patience:g} s") from error
        except KeyboardInterrupt:
            if keep:
                # As long as we live, it is heard to its end.
                Thread(target=process.communicate, daemon=True).start()
            else:
                _end(process)
            raise
        return Ran(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))

    def alive(self, pid: int, born: int | None = None) -> bool:
        """Whether the process runs, and is the one that was born then."""
        return proc.alive(pid, born)

    def signal(self, pid: int, number: int) -> None:
        """Sends a signal; a process that has gone is no error."""
        proc.send(pid, number)

    def left(self, runs: Sequence[Path]) -> Mapping[Path, Sequence[int]]:
        """Pids of what each of the runs left behind."""
        return {Path(run): pids for run, pids in sweep.of_each(map(str, runs)).items()}

    def sweep(self, run: Path) -> Sequence[int]:
        """Kills what a run left behind; returns the pids of what would not die."""
        return sweep.sweep(str(run))


def _said(process: "subprocess.Popen[bytes]", patience: float, grace: float) -> tuple[bytes, bytes]:
    """What the program printed, once it has ended. Raises TimeoutError, and KeyboardInterrupt after the grace."""
    limit = time.monotonic() + patience
    while True:
        left = limit - time.monotonic()
        if left <= 0:
            raise TimeoutError
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=min(left, interrupt.GLANCE))
        interrupt.heed(grace)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kills the program and what it started: sites wrap Slurm's programs into scripts."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with process:
        pass


@dataclass
class Recording:
    """A world in which nothing happens: every effect is noted in `calls`, answers are given beforehand.

    `answers` maps the first words of a program to what it says (the longest match counts; without one it ends
    with 127). Time stands still but for `pause`.
    """

    environ: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[tuple[str, ...], Ran] = field(default_factory=dict)
    pids: frozenset[int] = frozenset()
    clock: float = 0.0
    calls: list[tuple[Any, ...]] = field(default_factory=list)

    def now(self) -> float:
        """The clock."""
        return self.clock

    def monotonic(self) -> float:
        """The clock."""
        return self.clock

    def pause(self, seconds: float) -> None:
        """Moves the clock."""
        self.clock += seconds

    def run(
        self,
        words: Sequence[str],
        env: Mapping[str, str] | None = None,
        patience: float = 60.0,
        keep: Sequence[int] = (),
    ) -> Ran:
        """The answer given beforehand."""
        self.calls.append(("run", tuple(words), None if env is None else dict(env)))
        known = [start for start in self.answers if tuple(words[: len(start)]) == start]
        return self.answers[max(known, key=len)] if known else Ran(127, "", f"{words[0]}: no such program here\n")

    def alive(self, pid: int, born: int | None = None) -> bool:
        """Whether the pid was given beforehand."""
        return pid in self.pids

    def signal(self, pid: int, number: int) -> None:
        """Noted."""
        self.calls.append(("signal", pid, number))

    def left(self, runs: Sequence[Path]) -> Mapping[Path, Sequence[int]]:
        """Nothing."""
        return dict.fromkeys(runs, ())

    def sweep(self, run: Path) -> Sequence[int]:
        """Noted."""
        self.calls.append(("sweep", run))
        return ()
