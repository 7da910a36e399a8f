"""A block of ports for one test: nobody else's, not even another test's in another process."""

import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

STEP = 40
"""Shifts are multiples of it: ports of four workers, of the router and its metrics never meet another block's."""

_BLOCKS = 90
_GUARDS = 31000
_ENGINES = (6100, 6132, 6164, 6196, 7200, 7201, 5400, 5401, 5402, 5403, 5404, 5405)
_EVENTS = (5550, 5551, 5552, 5553, 5557)
_ROUTERS = (8000, 29000, 9002, 9003, 9090, 9600, 9601, 9901, 9911)
_BASES = (*_ENGINES, *_EVENTS, *_ROUTERS)


@contextmanager
def block() -> Iterator[int]:
    """A `ports.shift` whose ports are all free; held by a guard port until the block is left."""
    for turn in range(_BLOCKS):
        number = 1 + (os.getpid() + turn) % _BLOCKS
        guard = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            guard.bind(("127.0.0.1", _GUARDS + number))
        except OSError:
            guard.close()
            continue
        if all(free(base + STEP * number) for base in _BASES):
            with guard:
                yield STEP * number
            return
        guard.close()
    raise RuntimeError("no free block of ports")


def free(port: int) -> bool:
    """Whether nobody listens on the port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def listening(ports: Iterable[int]) -> list[int]:
    """Those ports somebody listens on."""
    return [port for port in ports if not free(port)]
