"""gRPC in the place of HTTP: a server on one port.

Options of the server: `entrypoints/launchers/grpc_server.py` of vLLM 0.32.0.
"""

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import grpc

from launcher.sim.ask import Problem
from launcher.sim.message import Gone
from launcher.sim.worker import say

_THREADS = 256
"""Calls that are answered at a time."""
_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 10000),
    ("grpc.keepalive_permit_without_calls", 1),
    # Two servers would share the port, and neither be told.
    ("grpc.so_reuseport", 0),
)
_STATUS = {400: grpc.StatusCode.INVALID_ARGUMENT, 404: grpc.StatusCode.NOT_FOUND}
_QUIET = frozenset(("Check", "HealthCheck", "GetLoads"))


class Call:
    """The client's side of one call."""

    def __init__(self, context: Any) -> None:
        self._gone = threading.Event()
        self._sent: Callable[[], None] | None = None
        if not context.add_callback(self._ended):
            self._gone.set()

    def answered(self, sent: Callable[[], None]) -> None:
        """Nothing is left to be said; `sent` is called once that has left."""
        self._sent = sent

    def _ended(self) -> None:
        self._gone.set()
        if self._sent is not None:
            self._sent()

    def wait(self, seconds: float | None) -> None:
        """Sleep for `seconds` (None: for ever). Raises Gone as soon as the client has left."""
        if self._gone.wait(seconds):
            raise Gone


@dataclass(frozen=True)
class Method:
    """One method of a service: what answers a message of the class `request`, with one message or with many."""

    request: Any
    answer: Callable[[Any, Call], Any]
    streams: bool = False


class Remote:
    """A gRPC server on a port that was bound. `start` returns at once; `close` takes at most its grace."""

    def __init__(self, sock: socket.socket, host: str, services: Mapping[str, Mapping[str, Method]]) -> None:
        """`services` are methods by name, by the name of their service."""
        self._port = int(sock.getsockname()[1])
        self._sock = sock
        self._host = f"[{host}]" if ":" in host and not host.startswith("[") else host
        self._server = grpc.server(ThreadPoolExecutor(_THREADS), options=_OPTIONS)
        for service, methods in services.items():
            handlers = {name: _handler(name, method) for name, method in methods.items()}
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))

    @property
    def port(self) -> int:
        """The port that was bound."""
        return self._port

    def start(self) -> None:
        """Listen. Raises OSError where another program listens there by now."""
        try:
            # The socket has kept the port for this; nobody ever listened on it.
            if not self._server.add_insecure_port(f"{self._host}:{self.port}"):
                raise OSError(98, "Address already in use")
        except RuntimeError as fault:
            raise OSError(98, "Address already in use") from fault
        self._sock.close()
        self._server.start()

    def close(self, grace: float) -> None:
        """Accept nobody any more, let answers under way finish for `grace` seconds, then cut the rest."""
        self._sock.close()
        self._server.stop(grace).wait(grace)


def _handler(name: str, method: Method) -> Any:
    kind = grpc.unary_stream_rpc_method_handler if method.streams else grpc.unary_unary_rpc_method_handler
    answer = _many(name, method) if method.streams else _one(name, method)
    return kind(answer, method.request.FromString, lambda message: message.SerializeToString())


def _one(name: str, method: Method) -> Callable[[Any, Any], Any]:
    def answer(message: Any, context: Any) -> Any:
        if name not in _QUIET:
            say(f'"{name}"')
        try:
            return method.answer(message, Call(context))
        except Problem as problem:
            return _refuse(context, problem)

    return answer


def _many(name: str, method: Method) -> Callable[[Any, Any], Iterator[Any]]:
    def answer(message: Any, context: Any) -> Iterator[Any]:
        try:
            yield from method.answer(message, Call(context))
        except Problem as problem:
            say(f'"{name}" {problem.status}')
            _refuse(context, problem)
        except Gone:
            say(f'"{name}" abandoned')

    return answer


def _refuse(context: Any, problem: Problem) -> None:
    context.abort(_STATUS.get(problem.status, grpc.StatusCode.INTERNAL), str(problem))
