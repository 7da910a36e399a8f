"""Servers of one replica that find each other before any of them is ready: one gathers, the others join.

The engines do so over a port of the first server (vLLM's `--data-parallel-rpc-port` or `--master-port`, SGLang's
`--dist-init-addr`); here each other server connects to it and stays connected.
"""

import socket
import threading
from contextlib import suppress
from dataclasses import dataclass

from launcher.sim.server import bound

AGAIN = 0.2
"""Seconds until a server that found nobody tries again."""


@dataclass(frozen=True)
class Address:
    """Where the first server of a replica waits for the others."""

    host: str
    port: int


class Gathering:
    """The first server's side: complete once as many as `count` have come. Raises OSError for a busy port."""

    def __init__(self, address: Address, count: int) -> None:
        self._sock = bound(address.host, address.port)
        self._sock.listen(1024)
        self._left = count
        self._here: list[socket.socket] = []
        self.complete = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while self._left > 0:
            try:
                self._here.append(self._sock.accept()[0])
            except OSError:
                return
            self._left -= 1
        self.complete.set()

    def close(self) -> None:
        """Nobody is waited for any more, and all connections end."""
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        for sock in (self._sock, *self._here):
            sock.close()


def join(address: Address, stop: threading.Event) -> socket.socket | None:
    """The connection to the first server, once it is there; None where `stop` came before."""
    while not stop.is_set():
        try:
            return socket.create_connection((address.host, address.port), timeout=5.0)
        except OSError:
            stop.wait(AGAIN)
    return None
