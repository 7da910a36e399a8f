"""ZMQ sockets of a test, on which it hears KV events."""

from typing import Any

import msgspec
import zmq

from tests.sim.processes import PATIENCE


class Sockets:
    """Sockets of a test, closed with it."""

    def __init__(self) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._made: list[zmq.Socket[bytes]] = []

    def __call__(self, kind: int, *, at: str = "", by: str = "") -> "zmq.Socket[bytes]":
        """A socket that is bound `at` a place, or goes `by` one."""
        made = self._context.socket(kind)
        self._made.append(made)
        made.rcvtimeo = int(PATIENCE * 1000)
        if kind == zmq.SUB:
            made.subscribe(b"")
        made.bind(at) if at else made.connect(by)
        return made

    def close(self) -> None:
        for each in self._made:
            each.close(linger=0)
        self._context.term()


def heard(socket: Any) -> tuple[str, int, list[Any]]:
    topic, number, content = socket.recv_multipart()
    return topic.decode(), int.from_bytes(number, "big"), msgspec.msgpack.decode(content)
