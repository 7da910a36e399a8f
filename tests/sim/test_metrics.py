"""What `/metrics` says, as routers and Prometheus read it."""

import socket
from collections.abc import Mapping

import pytest

from launcher.sim.metrics import VLLM, Book, Registry, labels
from tests.sim.processes import Program, Start, samples, until


def difference(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """What was counted in between, times and buckets left out."""
    kept = {name: value - before.get(name, 0.0) for name, value in after.items() if "_bucket" not in name}
    return {name: value for name, value in kept.items() if value and "_seconds_sum" not in name}


def test_vllm(start: Start) -> None:
    worker = start("--personality", "vllm", "--name", "w0", "--dp-size", "2", "--dp-start-rank", "2")
    before = worker.metrics()
    ranks = {name.split('engine="')[1][0] for name in before if "engine=" in name}
    assert ranks == {"2", "3"}
    worker.ask("/v1/completions", {"prompt": "a b c", "max_tokens": 2}, {"X-data-parallel-rank": "1"})
    at = 'engine="3",model_name="tiny"'
    assert difference(before, worker.metrics()) == {
        f"vllm:prompt_tokens_total{{{at}}}": 3,
        f"vllm:generation_tokens_total{{{at}}}": 2,
        'vllm:request_success_total{engine="3",finished_reason="length",model_name="tiny"}': 1,
        f"vllm:time_to_first_token_seconds_count{{{at}}}": 1,
        f"vllm:e2e_request_latency_seconds_count{{{at}}}": 1,
    }


def test_sglang(start: Start) -> None:
    worker = start("--personality", "sglang", "--name", "w0")
    before = worker.metrics()
    assert {name for name in before if name.startswith("sglang:num_running_reqs")} == {
        'sglang:num_running_reqs{engine_type="unified",model_name="tiny",moe_ep_rank="0",pp_rank="0",tp_rank="0"}'
    }
    worker.complete(stream=True)
    at = 'engine_type="unified",is_streaming="true",model_name="tiny"'
    assert difference(before, worker.metrics()) == {
        f"sglang:prompt_tokens_total{{{at}}}": 3,
        f"sglang:generation_tokens_total{{{at}}}": 3,
        f"sglang:num_requests_total{{{at}}}": 1,
        f"sglang:time_to_first_token_seconds_count{{{at}}}": 1,
        f"sglang:e2e_request_latency_seconds_count{{{at}}}": 1,
    }


LEFT = [
    (
        "vllm",
        "vllm:num_requests_running",
        'vllm:request_success_total{engine="0",finished_reason="abort",model_name="tiny"}',
    ),
    (
        "sglang",
        "sglang:num_running_reqs",
        'sglang:num_aborted_requests_total{engine_type="unified",model_name="tiny"}',
    ),
]


@pytest.mark.parametrize(("engine", "name", "aborted"), LEFT)
def test_a_request_in_work_is_seen_and_one_left_is_counted(start: Start, engine: str, name: str, aborted: str) -> None:
    worker = start("--personality", engine, "--first-token-latency", "60")

    def running() -> float:
        return sum(value for at, value in worker.metrics().items() if at.startswith(name))

    with leaving(worker):
        until(lambda: running() == 1, "the request in work")
    until(lambda: running() == 0, "the client's leaving to be noticed")
    until(lambda: worker.metrics().get(aborted) == 1, "the request to be counted as aborted")


def leaving(worker: Program) -> socket.socket:
    """A client that asks for a stream and does not read it."""
    body = b'{"prompt":"a","stream":true}'
    sock = socket.create_connection(("127.0.0.1", worker.port))
    head = b"POST /v1/completions HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    sock.sendall(head + body)
    return sock


def test_label_values_are_escaped() -> None:
    book = Book(VLLM, "w", 'a"b\\c\nd', range(1), None)
    assert 'model_name="a\\"b\\\\c\\nd"' in book.registry.text()


def test_histogram_is_cumulative() -> None:
    registry = Registry()
    registry.declare("x_seconds", "histogram", "About.")
    for seconds in (0.002, 0.3, 100.0):
        registry.observe("x_seconds", labels({"a": "b"}), seconds)
    found = samples(registry.text())
    assert found['x_seconds_bucket{a="b",le="0.001"}'] == 0
    assert found['x_seconds_bucket{a="b",le="0.5"}'] == 2
    assert found['x_seconds_bucket{a="b",le="60.0"}'] == 2
    assert found['x_seconds_bucket{a="b",le="+Inf"}'] == found['x_seconds_count{a="b"}'] == 3
    assert found['x_seconds_sum{a="b"}'] == pytest.approx(100.302)
