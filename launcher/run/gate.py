"""Asking a gate once: is it open, and what was said."""

import http.client
import json
import socket
import time
from contextlib import closing
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple
from urllib.parse import SplitResult, urlsplit

from launcher.run.expect import samples, unmet, unmet_gauge
from launcher.run.script import Gate

_LIMIT = 16 * 1024 * 1024
_ABSENT = (404, 405, 501)
# Not every engine has both; the older one needs no chat template.
_COMPLETIONS: Tuple[Tuple[str, Dict[str, Any]], ...] = (
    ("/completions", {"prompt": "Hello"}),
    ("/chat/completions", {"messages": [{"role": "user", "content": "Hello"}]}),
)
_JSON = {"Content-Type": "application/json"}


class Answer(NamedTuple):
    """`said` is what came back, in words that finish "the last answer was: …"."""

    open: bool
    said: str


def probe(gate: Gate) -> Answer:
    """Asks once, within `gate.patience` seconds for each exchange; never raises for what a server does.

    Proxies of the environment are not used: gates are asked on the nodes themselves.
    """
    try:
        return KINDS[gate.kind](gate)
    except socket.timeout:
        return Answer(False, "no answer within %g s" % gate.patience)
    except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
        return Answer(False, _words(error))


def _http(gate: Gate) -> Answer:
    status, body = _ask(gate, gate.url)
    if status != gate.status:
        return Answer(False, _status(status, body))
    faults = [fault for fault in (unmet(expect, json.loads(body)) for expect in gate.expect) if fault]
    return _judged(status, faults)


def _gauge(gate: Gate) -> Answer:
    status, body = _ask(gate, gate.url)
    if status != gate.status:
        return Answer(False, _status(status, body))
    found = samples(body)
    faults = [fault for fault in (unmet_gauge(expect, found) for expect in gate.expect) if fault]
    return _judged(status, faults)


def _tcp(gate: Gate) -> Answer:
    parts = urlsplit(gate.url)
    if not parts.hostname or not parts.port:
        raise ValueError("no address and port: %s" % gate.url)
    with closing(socket.create_connection((parts.hostname, parts.port), timeout=gate.patience)):
        return Answer(True, "connected")


def _complete(gate: Gate) -> Answer:
    base = gate.url.rstrip("/")
    base += "" if base.endswith("/v1") else "/v1"
    answer = Answer(False, "")
    for path, asked in _COMPLETIONS:
        request = {"model": gate.model, "max_tokens": 4, "temperature": 0, **asked}
        status, body = _ask(gate, base + path, json.dumps(request).encode("ascii"))
        answer = _completed(gate, status, body)
        if answer.open or status not in _ABSENT:
            break
    return answer


def _log(gate: Gate) -> Answer:
    with open(gate.url, "rb") as file:
        lines = file.read(_LIMIT).decode("utf-8", "replace").splitlines()
    for expect in gate.expect:
        found, wanted = lines.count(expect.at), expect.count or 1
        if found < wanted:
            return Answer(False, "%d of %d lines `%s`" % (found, wanted, expect.at))
    return Answer(True, "every line is there")


KINDS: Dict[str, Callable[[Gate], Answer]] = {
    "http": _http,
    "gauge": _gauge,
    "tcp": _tcp,
    "complete": _complete,
    "log": _log,
}
"""Kind of a gate → how it is asked."""


def _completed(gate: Gate, status: int, body: str) -> Answer:
    if status != gate.status:
        return Answer(False, _status(status, body))
    answer = json.loads(body)
    choices = answer.get("choices") if isinstance(answer, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict) or not isinstance(first.get("text", first.get("message")), (str, dict)):
        return Answer(False, "HTTP %d without a completion: %s" % (status, _excerpt(body)))
    return _judged(status, [fault for fault in (unmet(expect, answer) for expect in gate.expect) if fault])


def _ask(gate: Gate, url: str, content: Optional[bytes] = None) -> Tuple[int, str]:
    """Status and text of one GET, or POST of JSON."""
    parts = urlsplit(url)
    target = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    with closing(_connection(parts, gate.patience)) as connection:
        connection.request("GET" if content is None else "POST", target, content, _JSON if content else {})
        response = connection.getresponse()
        return response.status, _read(response, time.monotonic() + gate.patience)


def _connection(parts: SplitResult, patience: float) -> http.client.HTTPConnection:
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("no address of a server: %s" % parts.geturl())
    if parts.scheme == "https":
        return http.client.HTTPSConnection(parts.hostname, parts.port, timeout=patience)
    return http.client.HTTPConnection(parts.hostname, parts.port, timeout=patience)


def _read(response: http.client.HTTPResponse, deadline: float) -> str:
    pieces: List[bytes] = []
    size = 0
    while size < _LIMIT:
        piece = response.read1(65536)
        if not piece:
            break
        pieces.append(piece)
        size += len(piece)
        # The socket's timeout starts anew with every byte; a stream that never ends must not hold us.
        if time.monotonic() > deadline:
            raise socket.timeout
    return b"".join(pieces).decode("utf-8", "replace")


def _judged(status: int, faults: List[str]) -> Answer:
    return Answer(not faults, "HTTP %d" % status + ("; ".join(["", *faults]) if faults else ""))


def _status(status: int, body: str) -> str:
    text = _excerpt(body)
    return "HTTP %d" % status + (": " + text if text else "")


def _excerpt(body: str) -> str:
    text = " ".join(body.split())
    return text if len(text) <= 200 else text[:197] + "..."


def _words(error: BaseException) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, json.JSONDecodeError):
        return "the answer is no JSON: %s" % error
    text = getattr(error, "strerror", None) or str(error)
    return _excerpt(text) or type(error).__name__
