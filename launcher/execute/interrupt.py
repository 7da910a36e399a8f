"""Ctrl-C while something is asked that does not answer: whoever waits for it is to hear of the interrupt at once.

Only the main thread is interrupted by Python itself, and not even that one while signals are collected. Everything
else that waits looks here: programs that were asked something are ended, pauses are cut short.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

GLANCE = 0.1
"""Seconds between two looks of what waits."""

_GRACE = 1.0

T = TypeVar("T")
R = TypeVar("R")


class _Interrupt:
    at: float | None = None


_THIS = _Interrupt()


def tell() -> None:
    """From now on whatever waits raises KeyboardInterrupt."""
    _THIS.at = _THIS.at or time.monotonic()


def over() -> None:
    """Nothing waits any more of what was interrupted."""
    _THIS.at = None


def heed(grace: float = 0.0) -> None:
    """Raises KeyboardInterrupt once the interrupt is `grace` seconds old."""
    if _THIS.at is not None and time.monotonic() >= _THIS.at + grace:
        raise KeyboardInterrupt


def abreast(call: Callable[[T], R], items: Iterable[T], workers: int) -> Iterator[R]:
    """What `call` returns for each of the items, in order, several at a time. Raises what it raises.

    An interrupt is not kept waiting by the calls: what of them does not heed it is left alone.
    """
    pool = ThreadPoolExecutor(workers)
    asked = [pool.submit(call, item) for item in items]
    patience = None
    try:
        for each in asked:
            yield each.result()
    except KeyboardInterrupt:
        patience = _GRACE
        tell()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        wait(asked, timeout=patience)
        over()
