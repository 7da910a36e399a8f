"""Simulated workers behind the real SMG: does it take them for engines, and what becomes of a hand-over?"""

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from tests.sim.processes import Program, Start, ports, until

ENGINES = ("vllm", "sglang")
NIXL = '{"kv_connector":"NixlConnector","kv_role":"%s"}'


def smg(start: Start, *words: str) -> Program:
    """SMG on a free port of loopback, answering."""
    port, prometheus = ports(2)
    host = "127.0.0.1"
    line = [sys.executable, "-m", "smg", "launch", "--host", host, "--port", str(port), "--policy", "round_robin"]
    own = ["--prometheus-host", host, "--prometheus-port", str(prometheus), "--shutdown-grace-period-secs", "1"]
    program = start.run([*line, *own, *words])
    program.port = port
    return program


def ready(router: Program, **counts: int) -> Sequence[Any]:
    """The router's workers, once it has as many healthy ones of each kind as `counts` say, and no more."""
    wanted = {f"{kind}_count": counts.get(kind, 0) for kind in ("regular", "prefill", "decode")}

    def look() -> Any:
        assert router.process.poll() is None, router.text
        try:
            data = router.ask("/workers").data
        except ConnectionRefusedError:
            return None
        healthy = all(worker["is_healthy"] for worker in data["workers"])
        return data if healthy and data["stats"] == wanted else None

    workers: Sequence[Any] = until(look, f"SMG to have {wanted}")["workers"]
    return workers


def url(worker: Program) -> str:
    return f"http://127.0.0.1:{worker.port}"


@pytest.mark.parametrize("engine", ENGINES)
def test_two_workers_share_the_requests(start: Start, engine: str) -> None:
    workers = [start("--personality", engine, "--name", name) for name in ("w0", "w1")]
    router = smg(start, "--worker-urls", *map(url, workers))
    listed = ready(router, regular=2)
    assert {(one["runtime_type"], one["model_id"], one["url"]) for one in listed} == {
        (engine, "tiny", url(worker)) for worker in workers
    }
    answers = [router.complete("a b c", max_tokens=2) for _ in range(6)]
    assert {answer.data["choices"][0]["text"] for answer in answers} == {"a b"}
    assert Counter(answer.data["system_fingerprint"] for answer in answers) == {"w0": 3, "w1": 3}
    assert {answer.headers["x-sim-worker"] for answer in answers} == {"w0", "w1"}
    streams = [router.chat("a b c", stream=True, stream_options={"include_usage": True}).events for _ in range(2)]
    for events in streams:
        assert "".join(event["choices"][0]["delta"]["content"] for event in events[:-1]) == "a b c"
        assert events[-1]["usage"] == {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6}
    assert {events[0]["system_fingerprint"] for events in streams} == {"w0", "w1"}
    assert router.end() == 0


def test_sglang_prompts_are_handed_over(start: Start) -> None:
    (bootstrap,) = ports(1)
    mode = ("--personality", "sglang", "--disaggregation-mode")
    prefill = start(*mode, "prefill", "--name", "p0", "--disaggregation-bootstrap-port", str(bootstrap))
    decodes = [start(*mode, "decode", "--name", name) for name in ("d0", "d1")]
    legs = [word for decode in decodes for word in ("--decode", url(decode))]
    router = smg(start, "--pd-disaggregation", "--prefill", url(prefill), str(bootstrap), *legs)
    ready(router, prefill=1, decode=2)
    for _ in range(2):
        answer = router.complete("a b c").data
        assert (answer["sim"]["prefilled_by"], answer["sim"]["recomputed"]) == ("p0", False)
        assert answer["choices"][0]["text"] == "a b c"
    events = [event for _ in range(2) for event in router.chat("a b", stream=True).events]
    assert {event["system_fingerprint"] for event in events} == {"d0:handed-over", "d1:handed-over"}
    fetched = [decode.metrics()[f'sim:handed_over_requests_total{{worker="d{n}"}}'] for n, decode in enumerate(decodes)]
    assert fetched == [2, 2]
    assert prefill.metrics()['sim:prefilled_requests_total{worker="p0"}'] == 4


def test_sglang_at_the_wrong_bootstrap_port_fails(start: Start) -> None:
    bootstrap, told = ports(2)
    mode = ("--personality", "sglang", "--handoff-timeout", "0.5", "--disaggregation-mode")
    prefill = start(*mode, "prefill", "--disaggregation-bootstrap-port", str(bootstrap))
    decode = start(*mode, "decode")
    words = ("--pd-disaggregation", "--prefill", url(prefill), str(told), "--decode", url(decode), "--disable-retries")
    router = smg(start, *words)
    ready(router, prefill=1, decode=1)
    answer = router.complete()
    assert answer.status == 500
    assert f"127.0.0.1:{told}" in answer.body.decode()


def nixl(start: Start) -> tuple[Program, Program]:
    """A vLLM prefill worker and a decode worker."""
    (side,) = ports(1)
    env = {"VLLM_NIXL_SIDE_CHANNEL_HOST": "127.0.0.1", "VLLM_NIXL_SIDE_CHANNEL_PORT": str(side)}
    prefill = start("--name", "p0", "--kv-transfer-config", NIXL % "kv_producer", env=env)
    return prefill, start("--name", "d0", "--kv-transfer-config", NIXL % "kv_consumer")


def test_vllm_prompts_are_recomputed_behind_http(start: Start) -> None:
    """The trap: everything is ready and answers 200, and no prompt is handed over (smg 1.13.0)."""
    prefill, decode = nixl(start)
    router = smg(start, "--pd-disaggregation", "--prefill", url(prefill), "--decode", url(decode))
    ready(router, prefill=1, decode=1)
    assert router.ask("/readiness").status == 200
    for _ in range(2):
        answer = router.complete("a b c")
        assert (answer.status, answer.data["choices"][0]["text"]) == (200, "a b c")
        assert (answer.data["system_fingerprint"], answer.data["sim"]["recomputed"]) == ("d0:recomputed", True)
    assert decode.metrics()['sim:recomputed_requests_total{worker="d0"}'] == 2
    assert decode.metrics()['sim:handed_over_requests_total{worker="d0"}'] == 0
    assert prefill.metrics()['sim:prefilled_requests_total{worker="p0"}'] == 0


def test_vllm_prompts_are_handed_over_where_smg_is_told_the_connector(start: Start) -> None:
    """No flag tells it; a worker that is added by request may name its connector (smg 1.13.0)."""
    prefill, decode = nixl(start)
    router = smg(start, "--pd-disaggregation")
    ready(router)
    for worker, kind in ((prefill, "prefill"), (decode, "decode")):
        labels = {"kv_connector": "NixlConnector"}
        router.ask("/workers", {"url": url(worker), "worker_type": kind, "labels": labels})
    ready(router, prefill=1, decode=1)
    answer = router.complete("a b c").data
    assert (answer["system_fingerprint"], answer["sim"]["prefilled_by"]) == ("d0:handed-over", "p0")
