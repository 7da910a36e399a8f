"""Sockets: an HTTP/1.1 server with one thread a connection, which can be closed in bounded time."""

import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace

from launcher.sim.message import (
    Gone,
    Inbox,
    Malformed,
    Request,
    Response,
    body,
    chunk,
    document,
    heading,
    opening,
)

Answer = Callable[[Request], Response]


def bound(host: str, port: int) -> socket.socket:
    """A socket bound to `host` and `port` (0: a free one) that does not listen yet. Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
    except OSError:
        sock.close()
        raise
    return sock


class Connection:
    """One client. Its thread reads a request, answers it, and goes on while both sides want to."""

    def __init__(self, sock: socket.socket, answer: Answer) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._answer = answer
        self._inbox = Inbox(self._fill)
        self.busy = False
        self.closing = False

    def serve(self) -> None:
        """Answer requests until the connection ends, then close it."""
        try:
            while not self.closing and self._one():
                pass
        except (Gone, OSError):
            pass
        finally:
            self.cut()
            self._sock.close()

    def cut(self) -> None:
        """End the connection now; a thread that waits in it wakes up."""
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def _one(self) -> bool:
        try:
            head = self._inbox.head()
            if head is None:
                return False
            self.busy = True
            request = self._read(head)
        except Malformed as fault:
            self._refuse(fault)
            return False
        response = self._answer(request)
        keep = request.keep and not self.closing and not (request.old and not isinstance(response.body, bytes))
        self._send(request, response, keep)
        response.sent()
        self.busy = False
        return keep

    def _read(self, head: bytes) -> Request:
        request = opening(head)
        if request.headers.get("expect", "").lower() == "100-continue":
            self._sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        return replace(request, body=body(request, self._inbox), wait=self._wait)

    def _refuse(self, fault: Malformed) -> None:
        response = document({"detail": str(fault)}, fault.status)
        self._send(Request("GET", "/"), response, keep=False)

    def _send(self, request: Request, response: Response, keep: bool) -> None:
        content = response.body
        head = heading(response, request, keep)
        if isinstance(content, bytes):
            self._sock.sendall(head if request.method == "HEAD" else head + content)
            return
        with closing(content):
            self._sock.sendall(head)
            for piece in content:
                self._sock.sendall(piece if request.old else chunk(piece))
        if not request.old:
            self._sock.sendall(chunk(b""))

    def _fill(self) -> bytes:
        return self._sock.recv(65536)

    def _wait(self, seconds: float | None) -> None:
        """Sleep for `seconds` (None: for ever). Raises Gone as soon as the client has closed or was cut."""
        end = None if seconds is None else time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        while end is None or (left := end - time.monotonic()) > 0:
            if not poll.poll(None if end is None else left * 1000):
                return
            if not self._sock.recv(1, socket.MSG_PEEK):
                raise Gone
            time.sleep(0.01 if end is None else min(0.01, left))  # a next request already waits; it must go on waiting


class Server:
    """Answers HTTP/1.1 on a bound socket. `start` returns at once; `close` takes at most its grace."""

    def __init__(self, sock: socket.socket, answer: Answer) -> None:
        self._sock = sock
        self._answer = answer
        self._connections: set[Connection] = set()
        self._changed = threading.Condition()
        self._closing = False

    @property
    def port(self) -> int:
        """The port that was bound."""
        return int(self._sock.getsockname()[1])

    def start(self) -> None:
        """Listen. Raises OSError where another program listens there by now."""
        self._sock.listen(1024)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self, grace: float) -> None:
        """Accept nobody any more, let answers under way finish for `grace` seconds, then cut the rest."""
        with self._changed:
            self._closing = True
            for connection in self._connections:
                connection.closing = True
                if not connection.busy:
                    connection.cut()
        self._hush()
        with self._changed:
            self._changed.wait_for(lambda: not self._connections, grace)
            for connection in self._connections:
                connection.cut()

    def _hush(self) -> None:
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept
        self._sock.close()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._sock.accept()
            except OSError:
                if self._sock.fileno() < 0 or self._closing:
                    return
                time.sleep(0.05)  # out of file descriptors: others will close
                continue
            self._welcome(sock)

    def _welcome(self, sock: socket.socket) -> None:
        connection = Connection(sock, self._answer)
        with self._changed:
            if self._closing:
                sock.close()
                return
            self._connections.add(connection)
        threading.Thread(target=self._run, args=(connection,), daemon=True).start()

    def _run(self, connection: Connection) -> None:
        try:
            connection.serve()
        finally:
            with self._changed:
                self._connections.discard(connection)
                self._changed.notify_all()
