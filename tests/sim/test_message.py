"""HTTP/1.1 from bytes and to bytes."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.sim.message import Inbox, Malformed, Request, Response, body, chunk, heading, opening


def fed(data: bytes, size: int = 7) -> Inbox:
    """An inbox that reads `data` in small pieces."""
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return Inbox(lambda: pieces.pop(0) if pieces else b"")


def read(data: bytes, size: int = 7) -> tuple[Request, bytes] | None:
    inbox = fed(data, size)
    head = inbox.head()
    if head is None:
        return None
    request = opening(head)
    return request, body(request, inbox)


def test_request_with_length() -> None:
    found = read(b"POST /v1/x?a=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nX-A:  b \r\n\r\nabc")
    assert found is not None
    request, content = found
    assert (request.method, request.path, request.query, content) == ("POST", "/v1/x", "a=1", b"abc")
    assert request.headers == {"host": "h", "content-length": "3", "x-a": "b"}
    assert (request.keep, request.old) == (True, False)


@pytest.mark.parametrize(
    ("line", "header", "keep"),
    [
        ("HTTP/1.1", "", True),
        ("HTTP/1.1", "Connection: close\r\n", False),
        ("HTTP/1.0", "", False),
        ("HTTP/1.0", "Connection: Keep-Alive\r\n", True),
    ],
)
def test_keep_alive(line: str, header: str, keep: bool) -> None:
    found = read(f"GET / {line}\r\n{header}\r\n".encode())
    assert found is not None
    assert found[0].keep is keep


def test_absolute_target_is_a_path() -> None:
    found = read(b"GET http://host:1/v1/models HTTP/1.1\r\n\r\n")
    assert found is not None
    assert found[0].path == "/v1/models"


def test_two_requests_follow_each_other() -> None:
    inbox = fed(b"\r\nPOST /a HTTP/1.1\r\ncontent-length: 1\r\n\r\nx\r\nGET /b HTTP/1.1\r\n\r\n")
    paths = []
    while (head := inbox.head()) is not None:
        request = opening(head)
        body(request, inbox)
        paths.append(request.path)
    assert paths == ["/a", "/b"]


BROKEN = [
    (b"GET /\r\n\r\n", 400),
    (b"GET  / HTTP/1.1\r\n\r\n", 400),
    (b"G\x00T / HTTP/1.1\r\n\r\n", 400),
    (b"GET / HTTP/2.0\r\n\r\n", 505),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    (b"GET / SPDY/1\r\n\r\n", 400),
    (b"GET nowhere HTTP/1.1\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n folded: yes\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n", 400),
    (b"POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nabc", 400),
    (b"POST / HTTP/1.1\r\ncontent-length: -5\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\ncontent-length: five\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", 400),
    (b"POST / HTTP/1.1\r\ncontent-length: 99999999999999999999999\r\n\r\n", 413),
    (b"POST / HTTP/1.1\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", 400),
    (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n", 400),
    (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nabcd\r\n", 400),
    (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nfffffffff\r\n", 413),
    (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nx: " + b"a" * 70_000 + b"\r\n\r\n", 431),
]


@pytest.mark.parametrize(("data", "status"), BROKEN)
def test_broken_request_is_refused(data: bytes, status: int) -> None:
    with pytest.raises(Malformed) as caught:
        read(data, 4096)
    assert caught.value.status == status


def test_silence_is_the_end() -> None:
    assert read(b"") is None


@given(st.binary(max_size=300), st.integers(1, 64), st.lists(st.integers(1, 50)))
def test_chunked_body_comes_whole(content: bytes, size: int, cuts: list[int]) -> None:
    rest, wire = content, b""
    for cut in cuts:
        if rest[:cut]:
            wire += chunk(rest[:cut])
            rest = rest[cut:]
    if rest:
        wire += chunk(rest)
    found = read(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + wire + chunk(b""), size)
    assert found is not None
    assert found[1] == content


@given(st.binary(max_size=400))
def test_any_bytes_are_a_request_or_refused(data: bytes) -> None:
    for prefix in (b"", b"POST /x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", b"GET / HTTP/1.1\r\n"):
        try:
            read(prefix + data, 64)
        except Malformed as refused:
            assert refused.status in {400, 413, 431, 505}


def no_pieces() -> Response:
    return Response(200, (piece for piece in [b"a"]))


@pytest.mark.parametrize(
    ("old", "response", "framing"),
    [
        (False, lambda: Response(204, b""), "content-length: 0"),
        (False, no_pieces, "transfer-encoding: chunked"),
        (True, no_pieces, None),
    ],
)
def test_heading_says_where_the_body_ends(old: bool, response: Callable[[], Response], framing: str | None) -> None:
    lines = heading(response(), Request("GET", "/", old=old), keep=False).decode().split("\r\n")
    assert lines[-2:] == ["", ""]
    assert "connection: close" in lines
    framed = [line for line in lines if line.startswith(("content-length", "transfer-encoding"))]
    assert framed == ([] if framing is None else [framing])
