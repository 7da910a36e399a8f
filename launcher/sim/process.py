"""The life of one worker process: ports, loading, signals, the end."""

import importlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from launcher.sim.blocks import Cache
from launcher.sim.disguise import undisguised
from launcher.sim.faults import Faults, Loading
from launcher.sim.group import Gathering, join
from launcher.sim.leg import Listener
from launcher.sim.parser import Settings, settings
from launcher.sim.personality import Personality, personality
from launcher.sim.server import Server, bound
from launcher.sim.worker import Worker, say

GRACE = 0.7
"""Seconds that answers under way are given after SIGTERM, so that the process is gone within one second."""


_REMOTE, _PUBLISHER = "launcher.sim.rpc", "launcher.sim.publisher"


class Stopped(Exception):
    """The worker cannot begin; the text says why."""


class Listening(Protocol):
    """What answers on one port."""

    @property
    def port(self) -> int:
        """The port."""

    def start(self) -> None:
        """Listen. Raises OSError where another program listens there by now."""

    def close(self, grace: float) -> None:
        """End within `grace` seconds."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a worker until SIGTERM or SIGINT. Returns 0 when ended so, 1 where a port is busy or a package is not there;
    exits 2 on its words.
    """
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    loading_since = time.monotonic()
    wanted = settings(undisguised(sys.argv[1:] if argv is None else argv, os.environ))
    try:
        servers = _follow(wanted, loading_since, stop) if wanted.headless else _open(wanted, loading_since, stop)
        stop.wait()
    except Stopped as fault:
        os.write(2, f"sim: error: {fault}\n".encode())
        return 1
    say("sim: stopping")
    _close(servers)
    return 0


def _follow(wanted: Settings, since: float, stop: threading.Event) -> list[Listening]:
    """Nothing to serve: a follower joins its first server, and stays."""
    Faults(wanted.orders).arm(since)
    _grouped(wanted, stop)
    say(f"sim: {wanted.name or 'a follower'} follows")
    return []


def _grouped(wanted: Settings, stop: threading.Event) -> None:
    """Returns once the servers of the replica have found each other, or `stop` came."""
    if wanted.join is not None:
        say(f"sim: joins {wanted.join.host}:{wanted.join.port}")
        _STAY.append(join(wanted.join, stop))
    if wanted.gather is not None:
        place = f"{wanted.gather.host}:{wanted.gather.port}"
        try:
            gathering = Gathering(wanted.gather, wanted.gather_count)
        except OSError as fault:
            raise Stopped(f"cannot listen on {place}: {fault.strerror}") from fault
        _STAY.append(gathering)
        say(f"sim: waits for {wanted.gather_count} at {place}")
        while not stop.is_set() and not gathering.complete.wait(_PAUSE):
            pass


_PAUSE = 0.05
_STAY: list[object] = []
"""Connections between the servers of a replica: they are kept until the end."""


def _open(wanted: Settings, since: float, stop: threading.Event) -> list[Listening]:
    """Every server of the worker, listening; earlier or later, as its personality does."""
    sock = _bound(wanted.host, wanted.port)
    kind = personality(replace(wanted, port=int(sock.getsockname()[1])))
    loading = Loading(since, None if wanted.never_healthy else wanted.startup_delay)
    worker = Worker(kind, loading, _cache(kind.settings))
    worker.faults.arm(since)
    others = [_other(listener) for listener in worker.handoff.listeners()]
    own = _remote(sock, kind, worker, loading) if wanted.grpc else Server(sock, worker.answer)
    servers: list[Listening] = [*others, own]
    mine = kind.settings
    host = f"[{wanted.host}]" if ":" in wanted.host else wanted.host
    place = f"{wanted.personality} on {'grpc' if wanted.grpc else 'http'}://{host}:{mine.port}"
    _grouped(wanted, stop)
    if stop.is_set():
        return []
    if not loading.done and not kind.opens_early:
        say(f"sim: {mine.name} loads, then speaks {place}")
        if stop.wait(loading.left()):
            return []
    for server in servers:
        _start(server)
    say(f"sim: {mine.name} speaks {place}")
    return servers


def _close(servers: Sequence[Listening]) -> None:
    """Close all at the same time within the grace; hand-overs go on while their requests do."""
    end = time.monotonic() + GRACE
    for server in reversed(servers):
        server.close(max(0.0, end - time.monotonic()))


def _bound(host: str, port: int) -> socket.socket:
    try:
        return bound(host, port)
    except OSError as fault:
        raise Stopped(f"cannot listen on {host}:{port}: {fault.strerror}") from fault


def _remote(sock: socket.socket, kind: Personality, worker: Worker, loading: Loading) -> Listening:
    """The server in the place of that for HTTP; what it is made of is imported here, since few need it."""
    try:
        dialect: Any = importlib.import_module(kind.rpc).DIALECT
        remote: Any = importlib.import_module(_REMOTE).Remote
    except ImportError as fault:
        raise Stopped(_lacking("speak gRPC", "smg-grpc-proto grpcio-health-checking", fault)) from fault
    made: Listening = remote(sock, kind.settings.host, dialect(kind.settings, worker, loading).services())
    return made


def _cache(settings: Settings) -> Cache | None:
    """The KV caches of the worker's ranks, each with its publisher; None where nobody is told of them."""
    if settings.events is None:
        return None
    try:
        publisher: Any = importlib.import_module(_PUBLISHER).Publisher
    except ImportError as fault:
        raise Stopped(_lacking("publish KV events", "pyzmq msgspec", fault)) from fault
    try:
        publishers = {rank: publisher(settings.events, rank) for rank in settings.ranks}
    except OSError as fault:
        raise Stopped(f"KV events cannot leave by {fault.filename}: {fault.strerror}") from fault
    return Cache(settings.ranks, lambda rank, events: publishers[rank].publish(events))


def _lacking(what: str, packages: str, fault: ImportError) -> str:
    return f"to {what} takes packages that this Python has not ({fault}): {sys.executable} -m pip install {packages}"


def _other(listener: Listener) -> Server:
    return Server(_bound(listener.host, listener.port), listener.answer)


def _start(server: Listening) -> None:
    try:
        server.start()
    except OSError as fault:
        raise Stopped(f"cannot listen on port {server.port}: {fault.strerror}") from fault
