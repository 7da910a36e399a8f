"""What the main thread waits for, in one place: signals, ends of children, and news from other threads."""

import os
import select
import signal
import time
from collections import deque
from contextlib import suppress
from typing import Any, Deque, List, Optional, Tuple

STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_HEARD = (*STOPS, signal.SIGCHLD)
# Python ignores them itself, and gives them back to every program it starts.
_OURS = (signal.SIGPIPE, signal.SIGXFSZ)

# A terminal or Slurm signals keeper and supervisor both, and the keeper passes its own on.
_ONE_REQUEST = 0.5


class Inbox:
    """Signals arrive through Python's wake-up descriptor: whichever thread the kernel picked, none is missed.

    `urged` turns true when the end is asked for once more.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._news: Deque[Any] = deque()
        self._first: Optional[float] = None
        self.urged = False

    def listen(self) -> None:
        """From here on signals end up in this inbox; only the main thread may call it."""
        for number in set(signal.Signals).difference(_HEARD, _OURS):
            # What a parent ignored (nohup, a shell's `&`) would be ignored by every child.
            if signal.getsignal(number) == signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in _HEARD:
            signal.signal(number, _nothing)

    def put(self, item: Any) -> None:
        """Hands something to the main thread; any thread may call it."""
        self._news.append(item)
        # A full pipe wakes the reader just as well.
        with suppress(BlockingIOError):
            os.write(self._write, b"\0")

    def get(self, seconds: float) -> Tuple[List[int], List[Any]]:
        """Waits for at most `seconds`; returns the signals that came, in order, and the news."""
        select.select([self._read], [], [], max(0.0, seconds))
        marks = b""
        with suppress(BlockingIOError):
            marks = os.read(self._read, 65536)
        news = []
        while self._news:
            news.append(self._news.popleft())
        stops = [mark for mark in marks if mark in STOPS]
        if stops:
            self._urge(time.monotonic())
        return stops, news

    def _urge(self, now: float) -> None:
        if self._first is None:
            self._first = now
        self.urged = now - self._first > _ONE_REQUEST


def _nothing(number: int, frame: Any) -> None:
    """Ignoring a signal would be inherited by children; a handler is not."""
