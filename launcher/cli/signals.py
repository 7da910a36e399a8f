"""Ctrl-C, TERM and hang-up as facts to ask about, so that no step of starting or stopping is cut in two."""

import signal
from types import FrameType, TracebackType
from typing import Self

from launcher.execute import interrupt

_ASKED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """While entered, the signals are collected in `caught`, in order; those the parent ignored stay ignored.

    Where whoever hears one `leaves`, they are an interrupt to what waits for programs, too.
    """

    def __init__(self, *, leaves: bool) -> None:
        self.leaves = leaves
        self.caught: list[signal.Signals] = []
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        for number in _ASKED:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._catch)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]
        interrupt.over()

    @property
    def first(self) -> str | None:
        """Name of the signal that came first (`SIGINT`), or None."""
        return self.caught[0].name if self.caught else None

    def _catch(self, number: int, frame: FrameType | None) -> None:
        self.caught.append(signal.Signals(number))
        if self.leaves:
            interrupt.tell()
