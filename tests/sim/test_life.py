"""From start to end of a worker's process: loading, busy ports, load, signals."""

import http.client
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.sim.processes import ROOT, Program, Start, ask, ports, until


def closed(port: int) -> bool:
    """Whether a connection is refused."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_vllm_listens_when_it_is_loaded(start: Start) -> None:
    worker = start("--personality", "vllm", "--startup-delay", "1", speaks=False)
    assert closed(worker.port)
    until(lambda: " speaks vllm on" in worker.text.partition("\n")[2], "the model to be loaded")
    assert worker.ask("/health").status == 200


def test_sglang_listens_at_once_and_is_healthy_when_loaded(start: Start) -> None:
    worker = start("--personality", "sglang", "--startup-delay", "2")
    assert [worker.ask(path).status for path in ("/health", "/health_generate", "/v1/models")] == [503, 503, 200]
    early = worker.complete()
    assert early.status == 200
    assert worker.ask("/health").status == 200, "a request waits for the model"


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_never_healthy(start: Start, engine: str) -> None:
    worker = start("--personality", engine, "--never-healthy", speaks=False)
    if engine == "sglang":
        assert worker.ask("/health").status == 503
    else:
        assert closed(worker.port)
    assert worker.end() == 0


BUSY = [
    ("vllm", "--port", {}),
    ("sglang", "--port", {}),
    ("sglang", "--disaggregation-bootstrap-port", {"--disaggregation-mode": "prefill"}),
]


@pytest.mark.parametrize(("engine", "flag", "more"), BUSY)
def test_busy_port_is_named(start: Start, engine: str, flag: str, more: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as owner:
        port = owner.getsockname()[1]
        words = {"--personality": engine, "--host": "127.0.0.1", "--port": "0", **more, flag: str(port)}
        line = [sys.executable, "-m", "launcher.sim", *(word for pair in words.items() for word in pair)]
        program = start.run(line)
        assert program.wait() == 1
    assert program.text.splitlines()[-1] == f"sim: error: cannot listen on 127.0.0.1:{port}: Address already in use"


def test_port_that_is_taken_while_the_model_loads(start: Start) -> None:
    worker = start("--startup-delay", "1", speaks=False)
    with socket.create_server(("127.0.0.1", worker.port)):
        assert worker.wait() == 1
    assert worker.text.splitlines()[-1] == f"sim: error: cannot listen on port {worker.port}: Address already in use"


def test_ipv6(start: Start) -> None:
    worker = start("--host", "::1")
    connection = http.client.HTTPConnection("::1", worker.port, timeout=30)
    connection.request("GET", "/health")
    assert connection.getresponse().status == 200
    connection.close()


def test_wrong_command_line_ends_at_once(start: Start) -> None:
    program = start.run([sys.executable, "-m", "launcher.sim", "--no-such-flag"])
    assert program.wait() == 2
    assert program.text.splitlines()[-1] == "sim: error: unrecognized arguments: --no-such-flag"


def test_fifty_requests_at_once(start: Start) -> None:
    worker = start("--token-latency", "0.02", "--first-token-latency", "2")

    def one(number: int) -> tuple[str, str]:
        prompt = f"p{number} q{number} r{number}"
        if number % 2:
            events = worker.complete(prompt, stream=True).events
            return prompt, "".join(event["choices"][0]["text"] for event in events)
        return prompt, worker.complete(prompt).data["choices"][0]["text"]

    with ThreadPoolExecutor(50) as pool:
        answers = pool.map(one, range(50))
        until(lambda: _running(worker) == 50, "all requests to be in work")
        assert all(prompt == text for prompt, text in answers)
    assert worker.metrics()['vllm:prompt_tokens_total{engine="0",model_name="tiny"}'] == 150
    assert _running(worker) == 0


def test_latency_is_spent(start: Start) -> None:
    worker = start("--first-token-latency", "0.3", "--token-latency", "0.1")
    begun = time.monotonic()
    worker.complete("a b c")
    assert time.monotonic() - begun >= 0.5


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_ends_when_asked(start: Start, engine: str, number: signal.Signals) -> None:
    worker = start("--personality", engine)
    idle = http.client.HTTPConnection("127.0.0.1", worker.port)
    idle.request("GET", "/health")
    idle.getresponse().read()
    assert worker.end(number) == 0
    assert closed(worker.port)
    idle.close()


def test_ends_while_it_loads(start: Start) -> None:
    assert start("--startup-delay", "60", speaks=False).end() == 0


def test_answers_under_way_are_finished(start: Start) -> None:
    worker = start("--token-latency", "0.1")
    with ThreadPoolExecutor(2) as pool:
        whole = pool.submit(worker.complete, "a b c d")
        stream = pool.submit(worker.complete, "a b c d", stream=True)
        until(lambda: _running(worker) == 2, "both requests to be in work")
        assert worker.end() == 0
        assert whole.result().data["choices"][0]["text"] == "a b c d"
        assert "".join(event["choices"][0]["text"] for event in stream.result().events) == "a b c d"
        assert {whole.result().headers["connection"], stream.result().headers["connection"]} <= {"keep-alive", "close"}


def test_an_answer_that_takes_too_long_is_cut(start: Start) -> None:
    worker = start("--first-token-latency", "60")
    lost: list[type[Exception]] = []

    def client() -> None:
        try:
            worker.complete()
        except (http.client.HTTPException, ConnectionError) as fault:
            lost.append(type(fault))

    thread = threading.Thread(target=client)
    thread.start()
    until(lambda: _running(worker) == 1, "the request to be in work")
    assert worker.end() == 0
    thread.join()
    assert lost == [http.client.RemoteDisconnected]


def _running(worker: Program) -> float:
    return worker.metrics()['vllm:num_requests_running{engine="0",model_name="tiny"}']


def test_nobody_reading_the_log_is_no_reason_to_fail(start: Start) -> None:
    (port,) = ports(1)
    line = [sys.executable, "-m", "launcher.sim", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"sim: ")
        process.stdout.close()
        assert [ask(port, "/v1/models").status for _ in range(3)] == [200] * 3
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()


def test_only_light_modules_are_loaded() -> None:
    """Tests and rehearsals start workers by the dozen; what costs tens of milliseconds stays out."""
    line = [sys.executable, "-S", "-X", "importtime", "-c", "import launcher.sim.process"]
    told = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True).stderr
    loaded = set(re.findall(r"\|\s+([\w.]+)$", told, re.MULTILINE))
    assert (
        loaded & {"asyncio", "ssl", "logging", "email", "urllib.request", "http.client", "tempfile", "hashlib"} == set()
    )
    # `org.python.core` is what the standard library's `copy` looks for under Jython.
    assert {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names - {"org"} == {"launcher"}
