"""Staying with a run: until it is ready, until it ends, or until somebody wants it ended."""

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from launcher.cli.progress import Progress
from launcher.cli.signals import Signals
from launcher.cli.terminal import Terminal
from launcher.execute.journal import Run, script
from launcher.execute.runs import Runs
from launcher.execute.status import Tail
from launcher.execute.world import World

_PAUSE = 0.05
_APART = 1.0


class Follower:
    """Follows one run and says what happens; `signals` that come are passed to the run."""

    def __init__(self, world: World, run: Run, kind: Runs, terminal: Terminal, signals: Signals) -> None:
        self.world = world
        self.run = run
        self.kind = kind
        self.terminal = terminal
        self.signals = signals
        children = script(run).children
        width = max((len(child.name) for child in children), default=0)
        preparing = [child.name for child in children if not (child.lasting or child.benchmark)]
        hint = f"what the steps say meanwhile: `launch logs {run.name} -f`"
        self.progress = Progress(terminal, width, hint, preparing)
        self._tail = Tail(run)
        self._live = True
        self._began = world.monotonic()

    def until_ready(self) -> bool:
        """True once the run is ready; False once it has ended, or a signal asks for its end."""
        self._until(lambda: self.progress.ready or bool(self.signals.caught))
        return self.progress.ready and not self.signals.caught

    def until_end(self) -> None:
        """Returns when the run has ended, or goes on without us; a signal stops it, one more makes it hurry."""
        self._until(lambda: bool(self.signals.caught))
        if self.signals.caught and not self.kind.detaches:
            self.stop(self.signals.first or "SIGTERM")

    @property
    def left(self) -> bool:
        """Whether the run goes on although a signal had us leave."""
        return bool(self.signals.caught) and self.kind.detaches and self._live

    def leave(self) -> int:
        """Says how to come back; returns the exit code of an interrupted command."""
        name = self.run.name
        self.terminal.note(f"{name} goes on; `launch wait {name}`, `launch logs {name} -f`, `launch down {name}`")
        return 130 if self.signals.first == "SIGINT" else 143

    def stop(self, by: str) -> None:
        """Ends the run on behalf of `by` and returns when nothing of it is left."""
        if self.kind.detaches:
            return
        self.terminal.note(f"stopping {self.run.name}; once more kills it at once")
        asked, heard = self.world.monotonic(), len(self.signals.caught)
        # From other threads, because further signals must be heard meanwhile.
        with ThreadPoolExecutor() as pool:
            ending = [pool.submit(self.kind.stop, self.run, by)]
            while not ending[0].done():
                self._hear()
                # Two requests in one moment would count as one.
                if len(self.signals.caught) > heard and self.world.monotonic() > asked + _APART:
                    asked, heard = self.world.monotonic(), len(self.signals.caught)
                    ending.append(pool.submit(self.kind.stop, self.run, by, hasten=True))
                self.world.pause(_PAUSE)
        self._hear()
        ending[0].result()

    def _until(self, done: Callable[[], bool]) -> None:
        # A signal to leave comes while Slurm is asked, too.
        with contextlib.suppress(KeyboardInterrupt):
            while self._goes_on(done):
                self.progress.tick(self.world.monotonic() - self._began, self.kind.waiting(self.run))
                self.world.pause(_PAUSE)
        self.terminal.settle()

    def _goes_on(self, done: Callable[[], bool]) -> bool:
        # Asked before reading: what a run wrote last is read after it has ended.
        self._live = self.kind.live(self.run)
        self._hear()
        return self._live and not done()

    def _hear(self) -> None:
        for event in self._tail.read():
            self.progress.tell(event)
