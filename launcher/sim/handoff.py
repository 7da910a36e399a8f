"""Prefill to decode: what a prefill worker keeps for a decode worker, and how that one fetches it.

The real engines move the KV cache over NIXL or Mooncake; here a small HTTP listener stands where their
side channel (vLLM) or bootstrap server (SGLang) listens, and a decode worker really connects to it.
"""

import json
import socket
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from launcher.sim.message import Request, Response, document

CAPACITY = 4096
"""Prompts a prefill worker keeps; the oldest go first."""
PATH = "/sim/kv/"
CONNECT = 5.0
"""Seconds for the TCP connection to a prefill worker."""


class Lost(Exception):
    """The hand-over failed; the text says where and why."""


@dataclass(frozen=True)
class Record:
    """One computed prompt: who computed it, how many tokens, and a checksum of them."""

    worker: str
    tokens: int
    checksum: int


def record(worker: str, prompt: Sequence[str]) -> Record:
    """The record of `prompt`."""
    return Record(worker, len(prompt), zlib.crc32(" ".join(prompt).encode("utf-8", "replace")))


def _hex(key: str) -> str:
    """`key` in hexadecimal: request ids are a client's to choose and may hold anything."""
    return key.encode("utf-8", "surrogatepass").hex()


class Store:
    """Records by key, each taken once."""

    def __init__(self) -> None:
        self._records: OrderedDict[str, Record] = OrderedDict()
        self._changed = threading.Condition()

    def put(self, key: str, value: Record) -> None:
        """Keep `value` until it is taken."""
        with self._changed:
            self._records[_hex(key)] = value
            while len(self._records) > CAPACITY:
                self._records.popitem(last=False)
            self._changed.notify_all()

    def take(self, code: str, patience: float) -> Record | None:
        """The record whose key is `code` in hexadecimal, waited for up to `patience` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: code in self._records, patience)
            taken = self._records.pop(code, None)
            self._changed.notify_all()
            return taken

    def taken(self, key: str, patience: float) -> bool:
        """Whether the record of `key` was taken within `patience` seconds; it is dropped where not."""
        with self._changed:
            gone = self._changed.wait_for(lambda: _hex(key) not in self._records, patience)
            self._records.pop(_hex(key), None)
            return gone


class Shelf:
    """The listener's side: answers `GET /sim/kv/HEX?SECONDS` from a store, and `/health`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def answer(self, request: Request) -> Response:
        """The record, or 404 when it did not come within the seconds asked."""
        if request.path == "/health":
            return Response(200, b"OK", "text/plain; charset=utf-8")
        if not request.path.startswith(PATH):
            return document({"detail": "Not Found"}, 404)
        try:
            patience = min(float(request.query or "0"), 600.0)
        except ValueError:
            patience = 0.0
        found = self._store.take(request.path[len(PATH) :], patience)
        return document({"detail": "no such prompt"}, 404) if found is None else document(asdict(found))


def fetch(host: str, port: int, key: str, patience: float) -> Record:
    """The record of `key` from the listener at `host` and `port`. Raises Lost, at the latest 5 s past `patience`."""
    place = f"{host}:{port}"
    try:
        with socket.create_connection((host, port), timeout=CONNECT) as sock:
            sock.settimeout(patience + CONNECT)
            sock.sendall(f"GET {PATH}{_hex(key)}?{patience:g} HTTP/1.0\r\n\r\n".encode("ascii"))
            answer = b"".join(iter(lambda: sock.recv(65536), b""))
    except (OSError, OverflowError, ValueError) as fault:
        raise Lost(f"no hand-over from {place}: {fault}") from fault
    return _parsed(answer, place)


def _parsed(answer: bytes, place: str) -> Record:
    head, _, content = answer.partition(b"\r\n\r\n")
    status = head.split(b" ")[1:2]
    if status == [b"404"]:
        raise Lost(f"no hand-over from {place}: it has no such prompt")
    if status != [b"200"]:
        raise Lost(f"no hand-over from {place}: what listens there is no prefill worker")
    try:
        return Record(**json.loads(content))
    except (ValueError, TypeError) as fault:
        raise Lost(f"no hand-over from {place}: what listens there is no prefill worker") from fault


@dataclass(frozen=True)
class Deadline:
    """A moment; several waits share it."""

    end: float

    @property
    def left(self) -> float:
        """Seconds until then, at least 0."""
        return max(0.0, self.end - time.monotonic())


def within(seconds: float) -> Deadline:
    """The moment `seconds` from now."""
    return Deadline(time.monotonic() + seconds)
