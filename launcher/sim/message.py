"""HTTP/1.1 messages: bytes of a connection → Request, Response → bytes. No sockets here."""

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

HEAD_LIMIT = 64 * 1024
BODY_LIMIT = 64 * 1024 * 1024
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

Fill = Callable[[], bytes]
"""Reads more bytes of the connection; empty at its end."""


class Malformed(Exception):
    """The bytes are no request we read; `status` is what to answer before closing."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Gone(Exception):
    """The other side has closed the connection."""


def _no_wait(seconds: float | None) -> None:
    raise Gone


@dataclass(frozen=True)
class Request:
    """One request. Header names are lower-case; `wait` sleeps and raises Gone when the client leaves."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    keep: bool = True
    old: bool = False
    wait: Callable[[float | None], None] = _no_wait


def _nothing() -> None:
    return None


@dataclass(frozen=True)
class Response:
    """One answer; a generator as body is sent piece by piece. `sent` is called once the last byte is on its way."""

    status: int = 200
    body: bytes | Generator[bytes, None, None] = b""
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: Callable[[], None] = _nothing


def document(data: Any, status: int = 200) -> Response:
    """A JSON answer."""
    return Response(status, encode(data))


def encode(data: Any) -> bytes:
    """`data` as compact JSON in UTF-8; half a surrogate pair, which no UTF-8 can hold, becomes `?`."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class Inbox:
    """Bytes of one connection that were read and not yet used."""

    def __init__(self, fill: Fill) -> None:
        self._fill = fill
        self._bytes = bytearray()

    def head(self) -> bytes | None:
        """The bytes up to the empty line, or None where the connection ended between two requests."""
        while (end := self._bytes.find(b"\r\n\r\n")) < 0:
            if len(self._bytes) > HEAD_LIMIT:
                raise Malformed(431, "request head too large")
            if not self._more():
                if self._bytes.strip():
                    raise Malformed(400, "connection ended inside a request head")
                return None
            if self._bytes[:2] == b"\r\n":  # some clients send an empty line after a body
                del self._bytes[:2]
        return self.take(end + 4)[:-4]

    def take(self, size: int) -> bytes:
        """Exactly `size` bytes."""
        while len(self._bytes) < size:
            if not self._more():
                raise Malformed(400, "connection ended inside a request body")
        taken = bytes(self._bytes[:size])
        del self._bytes[:size]
        return taken

    def line(self) -> bytes:
        """One line without its end, for chunk sizes and trailers."""
        while (end := self._bytes.find(b"\r\n")) < 0:
            if len(self._bytes) > HEAD_LIMIT or not self._more():
                raise Malformed(400, "broken chunked body")
        return self.take(end + 2)[:-2]

    def _more(self) -> bool:
        data = self._fill()
        self._bytes += data
        return bool(data)


def opening(head: bytes) -> Request:
    """The request a head announces, its body still missing. Raises Malformed."""
    lines = head.decode("latin-1").split("\r\n")
    parts = lines[0].split(" ")
    if len(parts) != 3 or not parts[0] or not _TOKEN.issuperset(parts[0]):
        raise Malformed(400, "broken request line")
    method, target, version = parts
    if version not in {"HTTP/1.1", "HTTP/1.0"}:
        raise Malformed(505 if version.startswith("HTTP/") else 400, "only HTTP/1.0 and HTTP/1.1 are spoken")
    headers = _headers(lines[1:])
    old = version == "HTTP/1.0"
    wish = headers.get("connection", "").lower()
    keep = "keep-alive" in wish if old else "close" not in wish
    path, _, query = _origin(target).partition("?")
    return Request(method, path, query, headers, keep=keep, old=old)


def _headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or not _TOKEN.issuperset(name):
            raise Malformed(400, "broken header line")
        key = name.lower()
        if key == "content-length" and headers.get(key, value.strip()) != value.strip():
            raise Malformed(400, "two lengths of one body")
        headers[key] = value.strip()
    return headers


def _origin(target: str) -> str:
    """The path of a request target; proxies may send the absolute form."""
    if target.startswith("http://"):
        return "/" + target[7:].partition("/")[2]
    if not target.startswith("/"):
        raise Malformed(400, "broken request target")
    return target


def body(request: Request, inbox: Inbox) -> bytes:
    """The body of `request`, read from `inbox`. Raises Malformed."""
    coding = request.headers.get("transfer-encoding")
    length = request.headers.get("content-length")
    if coding is not None:
        if length is not None or coding.lower() != "chunked":
            raise Malformed(400, "unclear length of the body")
        return _chunks(inbox)
    if length is None:
        return b""
    if not (length.isascii() and length.isdigit()):
        raise Malformed(400, "broken content-length")
    if int(length[:20]) > BODY_LIMIT:
        raise Malformed(413, "request body too large")
    return inbox.take(int(length))


def _chunks(inbox: Inbox) -> bytes:
    whole = bytearray()
    while True:
        digits = inbox.line().split(b";")[0].strip()
        try:
            size = int(digits[:16], 16) if digits.isalnum() else -1
        except ValueError:
            size = -1
        if size < 0:
            raise Malformed(400, "broken chunk size")
        if size == 0:
            break
        if len(whole) + size > BODY_LIMIT:
            raise Malformed(413, "request body too large")
        whole += inbox.take(size)
        if inbox.take(2) != b"\r\n":
            raise Malformed(400, "broken chunk")
    while inbox.line():
        pass  # trailers say nothing we use
    return bytes(whole)


def heading(response: Response, request: Request, keep: bool) -> bytes:
    """Status line and headers of `response` to `request`."""
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = "Unknown"
    headers = {"content-type": response.kind, **response.headers}
    if isinstance(response.body, bytes):
        headers["content-length"] = str(len(response.body))
    elif not request.old:
        headers["transfer-encoding"] = "chunked"
    headers["connection"] = "keep-alive" if keep else "close"
    lines = [f"HTTP/1.1 {response.status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def chunk(data: bytes) -> bytes:
    """`data` as one chunk of a chunked body; empty data ends it."""
    return b"%x\r\n%s\r\n" % (len(data), data)
