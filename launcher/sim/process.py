"""The life of one worker process: ports, loading, signals, the end."""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from launcher.sim.disguise import undisguised
from launcher.sim.faults import Faults, Loading
from launcher.sim.group import Gathering, join
from launcher.sim.leg import Listener
from launcher.sim.parser import Settings, settings
from launcher.sim.personality import personality
from launcher.sim.server import Server, bound
from launcher.sim.worker import Worker, say

GRACE = 0.7
"""Seconds that answers under way are given after SIGTERM, so that the process is gone within one second."""


class Busy(Exception):
    """A port could not be had; the text names it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a worker until SIGTERM or SIGINT. Returns 0 when ended so, 1 where a port is busy; exits 2 on its words."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    loading_since = time.monotonic()
    wanted = settings(undisguised(sys.argv[1:] if argv is None else argv, os.environ))
    try:
        servers = _follow(wanted, loading_since, stop) if wanted.headless else _open(wanted, loading_since, stop)
        stop.wait()
    except Busy as fault:
        os.write(2, f"sim: error: {fault}\n".encode())
        return 1
    say("sim: stopping")
    _close(servers)
    return 0


def _follow(wanted: Settings, since: float, stop: threading.Event) -> list[Server]:
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
            raise Busy(f"cannot listen on {place}: {fault.strerror}") from fault
        _STAY.append(gathering)
        say(f"sim: waits for {wanted.gather_count} at {place}")
        while not stop.is_set() and not gathering.complete.wait(_PAUSE):
            pass


_PAUSE = 0.05
_STAY: list[object] = []
"""Connections between the servers of a replica: they are kept until the end."""


def _open(wanted: Settings, since: float, stop: threading.Event) -> list[Server]:
    """Every server of the worker, listening; earlier or later, as its personality does."""
    sock = _bound(wanted.host, wanted.port)
    kind = personality(replace(wanted, port=int(sock.getsockname()[1])))
    loading = Loading(since, None if wanted.never_healthy else wanted.startup_delay)
    worker = Worker(kind, loading)
    worker.faults.arm(since)
    others = [_other(listener) for listener in worker.handoff.listeners()]
    servers = [*others, Server(sock, worker.answer)]
    mine = kind.settings
    host = f"[{wanted.host}]" if ":" in wanted.host else wanted.host
    place = f"{wanted.personality} on http://{host}:{mine.port}"
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


def _close(servers: Sequence[Server]) -> None:
    """Close all at the same time within the grace; hand-overs go on while their requests do."""
    end = time.monotonic() + GRACE
    for server in reversed(servers):
        server.close(max(0.0, end - time.monotonic()))


def _bound(host: str, port: int) -> socket.socket:
    try:
        return bound(host, port)
    except OSError as fault:
        raise Busy(f"cannot listen on {host}:{port}: {fault.strerror}") from fault


def _other(listener: Listener) -> Server:
    return Server(_bound(listener.host, listener.port), listener.answer)


def _start(server: Server) -> None:
    try:
        server.start()
    except OSError as fault:
        raise Busy(f"cannot listen on port {server.port}: {fault.strerror}") from fault
