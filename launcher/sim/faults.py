"""Failures on order: a worker that loads long or for ever, dies, hangs or answers 500."""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

Wait = Callable[[float | None], None]


class Injected(Exception):
    """The request is answered 500 by order."""


@dataclass(frozen=True)
class Orders:
    """Which failures are wanted. Seconds count from the start of the process, requests from the first."""

    fail_after: float | None = None
    fail_after_requests: int | None = None
    exit_code: int = 1
    hang_after_requests: int | None = None
    error_after_requests: int | None = None


def die(code: int, reason: str) -> None:
    """End the process at once, as a crashed engine does: nothing is finished, nothing closed."""
    os.write(2, f"sim: {reason}; exit code {code}\n".encode())
    os._exit(code)


class Faults:
    """Carries out `orders`. Requests are generations that passed validation."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._lock = threading.Lock()
        self._arrived = 0
        self._answered = 0

    def arm(self, since: float) -> None:
        """Let `--fail-after` count from `since` (monotonic)."""
        seconds = self._orders.fail_after
        if seconds is None:
            return
        words = (self._orders.exit_code, f"--fail-after {seconds:g}")
        timer = threading.Timer(max(0.0, since + seconds - time.monotonic()), die, words)
        timer.daemon = True
        timer.start()

    def arrive(self, wait: Wait) -> None:
        """Count a request. Raises Injected where it must fail; where it must hang, `wait` ends it with the client."""
        with self._lock:
            self._arrived += 1
            number = self._arrived
        if _past(number, self._orders.hang_after_requests):
            wait(None)
        if _past(number, self._orders.error_after_requests):
            raise Injected(f"--error-after-requests {self._orders.error_after_requests}")

    def answered(self) -> None:
        """Count an answer whose last byte was sent; may be the last thing this process does."""
        with self._lock:
            self._answered += 1
            number = self._answered
        limit = self._orders.fail_after_requests
        if limit is not None and number >= limit:
            die(self._orders.exit_code, f"--fail-after-requests {limit}")


def _past(number: int, limit: int | None) -> bool:
    return limit is not None and number > limit


class Loading:
    """The time a model takes to load: `seconds` from `since` (monotonic), None for ever."""

    def __init__(self, since: float, seconds: float | None) -> None:
        self._end = None if seconds is None else since + seconds

    def left(self) -> float | None:
        """Seconds until loaded, 0 when done, None for ever."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def done(self) -> bool:
        """Whether the model is loaded."""
        return self.left() == 0.0
