"""Asking gates of real servers on loopback."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from launcher.run.gate import KINDS, Answer, probe
from launcher.run.script import Expect, Gate
from launcher.run.words import GATES
from tests.run.rig import HOST, Web, port

CHOICE = json.dumps({"choices": [{"text": ""}]})
CHAT = json.dumps({"choices": [{"message": {"role": "assistant", "content": None}}]})
TWO = json.dumps({"workers": [{"up": True}, {"up": True}, {"up": False}]})


def test_every_kind_that_may_be_asked_can_be() -> None:
    assert tuple(KINDS) == GATES


@pytest.mark.parametrize(
    ("gate", "answer", "wanted"),
    [
        (Gate("http", "/"), (200, "anything"), Answer(True, "HTTP 200")),
        (Gate("http", "/"), (503, "not\n yet "), Answer(False, "HTTP 503: not yet")),
        (Gate("http", "/"), (500, ""), Answer(False, "HTTP 500")),
        (Gate("http", "/"), (404, "x" * 300), Answer(False, f"HTTP 404: {'x' * 197}...")),
        (Gate("http", "/"), (302, ""), Answer(False, "HTTP 302")),
        (Gate("http", "/", status=503), (503, ""), Answer(True, "HTTP 503")),
        (Gate("http", "/?a=b c".replace(" ", "%20")), (200, ""), Answer(True, "HTTP 200")),
        (Gate("http", "/", (Expect("workers", count=3),)), (200, TWO), Answer(True, "HTTP 200")),
        (
            # The right status and the wrong count.
            Gate("http", "/", (Expect("workers", count=3, where={"up": True}), Expect("stats"))),
            (200, TWO),
            Answer(False, "HTTP 200; `workers` where up = true has 2, wanted 3; `stats` is not in the answer"),
        ),
        (
            Gate("http", "/", (Expect("workers"),)),
            (200, "<html>"),
            Answer(False, "the answer is no JSON: Expecting value: line 1 column 1 (char 0)"),
        ),
        (Gate("http", "/", (Expect(),)), (200, "[" * 100_000), Answer(False, "maximum recursion depth exceeded")),
        (Gate("gauge", "/", (Expect("up", equals=2),)), (200, "up 2\n"), Answer(True, "HTTP 200")),
        (
            Gate("gauge", "/", (Expect("up", equals=2),)),
            (200, "up 1\n"),
            Answer(False, "HTTP 200; `up` is [1.0], wanted 2"),
        ),
        (Gate("gauge", "/"), (404, "no"), Answer(False, "HTTP 404: no")),
    ],
    ids=lambda case: str(case)[:60],
)
def test_answers(web: Web, gate: Gate, answer: tuple[int, str], wanted: Answer) -> None:
    web.answers[gate.url] = answer
    found = probe(Gate(gate.kind, web.url + gate.url, gate.expect, gate.status))
    assert found.open == wanted.open
    assert found.said.startswith(wanted.said)
    assert web.asked == [("GET", gate.url, "")]


@pytest.mark.parametrize(
    ("answers", "wanted"),
    [
        ({"/v1/completions": (200, CHOICE)}, Answer(True, "HTTP 200")),
        ({"/v1/completions": (404, ""), "/v1/chat/completions": (200, CHAT)}, Answer(True, "HTTP 200")),
        ({}, Answer(False, "HTTP 404: no such page")),
        ({"/v1/completions": (503, "no worker")}, Answer(False, "HTTP 503: no worker")),
        ({"/v1/completions": (200, "{}")}, Answer(False, "HTTP 200 without a completion: {}")),
        (
            {"/v1/completions": (200, '{"choices": []}')},
            Answer(False, 'HTTP 200 without a completion: {"choices": []}'),
        ),
        ({"/v1/completions": (200, '[{"text": ""}]')}, Answer(False, 'HTTP 200 without a completion: [{"text": ""}]')),
        ({"/v1/completions": (200, '{"choices": [{}]}')}, Answer(False, "HTTP 200 without a completion")),
        ({"/v1/completions": (200, "ok")}, Answer(False, "the answer is no JSON")),
    ],
    ids=lambda case: str(case)[:60],
)
@pytest.mark.parametrize("base", ["", "/", "/v1", "/v1/"])
def test_completion(web: Web, base: str, answers: dict[str, tuple[int, str]], wanted: Answer) -> None:
    web.answers.update(answers)
    found = probe(Gate("complete", web.url + base, model="tiny"))
    assert found.open == wanted.open
    assert found.said.startswith(wanted.said)
    first = web.asked[0]
    assert first[:2] == ("POST", "/v1/completions")
    assert json.loads(first[2]) == {"model": "tiny", "prompt": "Hello", "max_tokens": 4, "temperature": 0}


def test_completion_is_judged_by_expectations_too(web: Web) -> None:
    web.answers["/v1/completions"] = (200, CHOICE)
    found = probe(Gate("complete", web.url, (Expect("model", equals="tiny"),), model="tiny"))
    assert found == Answer(False, "HTTP 200; `model` is not in the answer")


def test_tcp(web: Web) -> None:
    assert probe(Gate("tcp", web.url)) == Answer(True, "connected")
    assert probe(Gate("tcp", f"tcp://{HOST}:{web.server_port}")).open
    assert probe(Gate("tcp", f"http://{HOST}:{port()}")) == Answer(False, "connection refused")


@contextmanager
def speaking(*pieces: bytes) -> Iterator[str]:
    """A server that says these pieces to whoever connects, then nothing more while it is asked."""
    done = threading.Event()

    def serve(listener: socket.socket) -> None:
        peer, _ = listener.accept()
        with peer:
            peer.recv(65536)
            for piece in pieces:
                peer.sendall(piece)
            done.wait()

    with socket.create_server((HOST, 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        try:
            yield f"http://{HOST}:{listener.getsockname()[1]}/"
        finally:
            done.set()
            thread.join()


@pytest.mark.parametrize(
    "pieces", [(), (b"HTTP/1.1 200 OK\r\n",), (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",)], ids=str
)
def test_silence_ends_after_the_gate_s_patience(pieces: tuple[bytes, ...]) -> None:
    with speaking(*pieces) as url:
        assert probe(Gate("http", url, patience=0.2)) == Answer(False, "no answer within 0.2 s")


def test_a_stream_without_an_end_is_not_followed_for_ever() -> None:
    stop = threading.Event()

    def serve(listener: socket.socket) -> None:
        peer, _ = listener.accept()
        with peer:
            peer.recv(65536)
            peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while not stop.wait(0.02):
                peer.sendall(b"data: more\n\n")

    with socket.create_server((HOST, 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        found = probe(Gate("http", f"http://{HOST}:{listener.getsockname()[1]}/", patience=0.2))
        stop.set()
        thread.join()
    assert found == Answer(False, "no answer within 0.2 s")


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        ((b"SSH-2.0-OpenSSH_9.2\r\n",), "SSH-2.0-OpenSSH_9.2"),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n" + b"a" * 65536 + b"\r\n",), "no answer within 0.2 s"),
    ],
)
def test_what_is_no_http(pieces: tuple[bytes, ...], said: str) -> None:
    with speaking(*pieces) as url:
        assert probe(Gate("http", url, patience=0.2)) == Answer(False, said)


@pytest.mark.parametrize("url", ["", "ftp://a", "http://", "http://a:b/", "http://127.0.0.1:99999/", "http://[::1/"])
@pytest.mark.parametrize("kind", ["http", "gauge", "complete", "tcp"])
def test_no_address_is_an_answer_too(kind: str, url: str) -> None:
    found = probe(Gate(kind, url, patience=0.2))
    assert not found.open
    assert found.said != ""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", Answer(False, "0 of 2 lines `watching`")),
        ("watching\nwatching\n", Answer(True, "every line is there")),
        ("srun: noise\nwatching\n", Answer(False, "1 of 2 lines `watching`")),
        ("watching \nunwatching\nwatching\n", Answer(False, "1 of 2 lines `watching`")),
        ("watching\n" * 3, Answer(True, "every line is there")),
    ],
)
def test_lines_of_a_log(tmp_path: Path, text: str, wanted: Answer) -> None:
    log = tmp_path / "log"
    log.write_text(text)
    assert probe(Gate("log", str(log), (Expect("watching", count=2),))) == wanted


def test_a_log_that_is_not_there_yet(tmp_path: Path) -> None:
    assert probe(Gate("log", str(tmp_path / "none"))) == Answer(False, "No such file or directory")
