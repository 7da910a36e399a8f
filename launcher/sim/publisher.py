"""Sockets that KV events leave by: one for each rank, over ZMQ. Without pyzmq and msgspec it cannot be imported.

A message has three parts: the topic, its number as 8 bytes (the first is 0), and the batch as msgpack. Who missed some
asks the replay endpoint for those from a number on, and is sent them one by one, then one whose number is -1 (vLLM
0.32.0).
"""

import itertools
import threading
import time
from collections import deque
from collections.abc import Sequence

import msgspec
import zmq

from launcher.sim.blocks import Event
from launcher.sim.events import Events, batch

_END = (-1).to_bytes(8, "big", signed=True)


class Publisher:
    """The publisher of one rank. Raises OSError where it can neither listen nor connect."""

    def __init__(self, events: Events, rank: int) -> None:
        self.events = events.of(rank)
        self._rank = rank
        self._topic = events.topic.encode("utf-8")
        self._numbers = itertools.count()
        self._sent: deque[tuple[bytes, bytes]] = deque(maxlen=events.buffer_steps)
        self._lock = threading.Lock()
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        self._socket = _socket(context.socket(zmq.PUB), self.events.endpoint, events.hwm, binds=self.events.binds)
        if self.events.replay_endpoint is not None:
            replay = _socket(context.socket(zmq.ROUTER), self.events.replay_endpoint, 0, binds=True)
            threading.Thread(target=self._serve, args=(replay,), daemon=True).start()

    def publish(self, events: Sequence[Event]) -> None:
        """Send events, if there are any, as one message."""
        if not events:
            return
        content = msgspec.msgpack.encode(batch(events, self._rank, time.time(), maps=self.events.maps))
        # A socket belongs to one thread at a time.
        with self._lock:
            number = next(self._numbers).to_bytes(8, "big")
            self._socket.send_multipart((self._topic, number, content))
            self._sent.append((number, content))

    def close(self) -> None:
        """Send nothing any more."""
        with self._lock:
            self._socket.close(linger=0)

    def _serve(self, replay: "zmq.Socket[bytes]") -> None:
        while True:
            asked = replay.recv_multipart()
            if len(asked) != 3:
                continue
            client, _, first = asked
            with self._lock:
                missed = [each for each in self._sent if each[0] >= first]
            for number, content in missed:
                replay.send_multipart((client, b"", self._topic, number, content))
            replay.send_multipart((client, b"", b"", _END, b""))


def _socket(made: "zmq.Socket[bytes]", endpoint: str, most: int, *, binds: bool) -> "zmq.Socket[bytes]":
    made.linger = 0
    made.ipv6 = "[" in endpoint or "::" in endpoint
    made.set_hwm(most)
    try:
        if binds:
            made.bind(endpoint)
        else:
            made.connect(endpoint)
    except zmq.ZMQError as fault:
        made.close()
        raise OSError(fault.errno, fault.strerror, endpoint) from fault
    return made
