"""Failures on order, as a launcher and its routers would see them."""

import http.client

import pytest

from tests.sim.processes import WORKER, Program, Start, until

ENGINES = ("vllm", "sglang")


@pytest.mark.parametrize(("words", "code"), [((), 1), (("--exit-code", "0"), 0), (("--exit-code", "137"), 137)])
def test_dies_after_seconds(start: Start, words: tuple[str, ...], code: int) -> None:
    worker = start.run([*WORKER, "--fail-after", "0.1", *words])
    assert worker.wait() == code
    assert worker.text.splitlines()[-1] == f"sim: --fail-after 0.1; exit code {code}"


@pytest.mark.parametrize("engine", ENGINES)
def test_dies_while_it_loads(start: Start, engine: str) -> None:
    worker = start.run([*WORKER, "--personality", engine, "--startup-delay", "60", "--fail-after", "0.1"])
    assert worker.wait() == 1


@pytest.mark.parametrize("stream", [False, True])
def test_dies_after_requests(start: Start, stream: bool) -> None:
    worker = start("--fail-after-requests", "3", "--exit-code", "9")
    for _ in range(3):
        answer = worker.complete(stream=stream)
        assert answer.body.rstrip().endswith(b"data: [DONE]" if stream else b"}"), "the last answer is whole"
    assert worker.wait() == 9
    assert "--fail-after-requests 3" in worker.text
    with pytest.raises(ConnectionRefusedError):
        worker.complete()


def test_refused_requests_and_pages_are_not_counted(start: Start) -> None:
    worker = start("--fail-after-requests", "1")
    assert [worker.complete(max_tokens=0).status, worker.ask("/health").status] == [400, 200]
    assert worker.complete().status == 200
    assert worker.wait() == 1


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("stream", [False, True])
def test_errors_after_requests(start: Start, engine: str, stream: bool) -> None:
    worker = start("--personality", engine, "--error-after-requests", "1")
    assert worker.complete(stream=stream).status == 200
    for _ in range(2):
        answer = worker.complete(stream=stream)
        error = answer.data["error"] if engine == "vllm" else answer.data
        assert (answer.status, error["type"], error["code"]) == (500, "InternalServerError", 500)
        assert error["message"] == "injected failure: --error-after-requests 1"
    assert worker.ask("/health").status == 200


def test_hangs_after_requests(start: Start) -> None:
    worker = start("--hang-after-requests", "1")
    assert worker.complete().status == 200
    connection = http.client.HTTPConnection("127.0.0.1", worker.port, timeout=0.5)
    connection.request("POST", "/v1/completions", b'{"prompt":"a"}', {"content-type": "application/json"})
    with pytest.raises(TimeoutError):
        connection.getresponse()
    assert _running(worker) == 1
    assert worker.ask("/health").status == 200, "as an engine with a dead follower"
    connection.close()
    until(lambda: _running(worker) == 0, "the client's leaving to be noticed")


def test_a_hanging_request_does_not_keep_it_from_ending(start: Start) -> None:
    worker = start("--hang-after-requests", "0")
    connection = http.client.HTTPConnection("127.0.0.1", worker.port, timeout=30)
    connection.request("POST", "/v1/completions", b'{"prompt":"a"}', {"content-type": "application/json"})
    until(lambda: _running(worker) == 1, "the request to hang")
    assert worker.end() == 0
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        connection.getresponse()
    connection.close()


def _running(worker: Program) -> float:
    return worker.metrics()['vllm:num_requests_running{engine="0",model_name="tiny"}']
