"""gRPC in the place of HTTP, behind the real SMG: discovered, ready, answered, and handed over."""

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from smg_grpc_proto import vllm_engine_pb2 as vllm
from smg_grpc_proto import vllm_engine_pb2_grpc

from tests.sim.processes import ROOT, WORKER, Program, Start, ports, until
from tests.sim.test_smg import NIXL, ready, smg

ENGINES = ("vllm", "sglang")


def url(worker: Program) -> str:
    return f"grpc://127.0.0.1:{worker.port}"


def open_to_all(router: Program, **counts: int) -> Sequence[Any]:
    """The router's workers, once it also has their tokenizer."""
    workers = ready(router, **counts)
    until(lambda: router.ask("/readiness").status == 200, "SMG to have the tokenizer")
    return workers


def parts(worker: Program) -> list[str]:
    """What the worker did for each request, by its log."""
    return [line.split()[1] for line in worker.text.splitlines() if line.startswith('"Generate"')]


@pytest.mark.parametrize("engine", ENGINES)
def test_two_workers_share_the_requests(start: Start, engine: str) -> None:
    workers = [start("--personality", engine, "--grpc", "--name", name) for name in ("w0", "w1")]
    router = smg(start, "--worker-urls", *map(url, workers))
    listed = open_to_all(router, regular=2)
    assert {(one["runtime_type"], one["connection_mode"], one["model_id"], one["url"]) for one in listed} == {
        (engine, "grpc", "tiny", url(worker)) for worker in workers
    }
    # A token is a byte here.
    whole = router.complete("a b c").data
    assert (whole["choices"][0]["text"], whole["choices"][0]["finish_reason"]) == ("a b c", "stop")
    assert whole["usage"]["completion_tokens"] == whole["usage"]["prompt_tokens"] == 5
    cut = router.complete("größer", max_tokens=4).data
    assert (cut["choices"][0]["text"], cut["choices"][0]["finish_reason"]) == ("grö", "length")
    assert router.complete("a b", max_tokens=8, ignore_eos=True).data["usage"]["completion_tokens"] == 8
    assert router.complete("one stop two", stop=["stop"]).data["choices"][0]["text"] == "one "
    assert [one["text"] for one in router.complete("ab", n=2).data["choices"]] == ["ab", "ab"]
    events = router.chat("a b c", stream=True, stream_options={"include_usage": True}).events
    texts = [each["choices"][0]["delta"].get("content", "") for each in events if each["choices"]]
    assert ("".join(texts), len([text for text in texts if text])) == ("a b c", 5)
    assert events[-1]["usage"]["total_tokens"] == 10
    assert [len(parts(worker)) for worker in workers] == [3, 3]
    assert router.end() == 0
    assert [worker.end() for worker in workers] == [0, 0]


def halves(start: Start, *words: str) -> tuple[Program, Program]:
    """A prefill and a decode worker of vLLM."""
    sides = ports(2)
    prefill, decode = (
        start(
            "--grpc", "--name", name, "--kv-transfer-config", NIXL % role, *words,
            env={"VLLM_NIXL_SIDE_CHANNEL_HOST": "127.0.0.1", "VLLM_NIXL_SIDE_CHANNEL_PORT": str(side)},
        )
        for name, role, side in zip(("p0", "d0"), ("kv_producer", "kv_consumer"), sides, strict=True)
    )  # fmt: skip
    return prefill, decode


def test_nixl_hands_over(start: Start) -> None:
    """What over HTTP is recomputed (see `test_smg`): over gRPC SMG learns the connector, and passes its word on."""
    prefill, decode = halves(start)
    router = smg(start, "--pd-disaggregation", "--prefill", url(prefill), "--decode", url(decode))
    open_to_all(router, prefill=1, decode=1)
    assert router.complete("a b c").data["choices"][0]["text"] == "a b c"
    assert len(router.chat("a b", stream=True).events) > 3
    assert parts(prefill) == ["prefill"] * 2
    assert parts(decode) == ["decode:handed-over"] * 2


def test_smg_waits_for_prefill_where_it_is_told_to(start: Start) -> None:
    """The launcher's word, without which SMG 1.13 gives a request up whose prefill is long."""
    prefill, decode = halves(start, "--first-token-latency", "6")
    pair = ("--pd-disaggregation", "--prefill", url(prefill), "--decode", url(decode))
    for patience, status in (("0", 200), ("1", 504)):
        router = smg(start, *pair, "--worker-wedge-secs", patience)
        open_to_all(router, prefill=1, decode=1)
        answer = router.complete("a b c")
        assert answer.status == status, answer.body
    assert answer.data["error"]["code"] == "prefill_worker_silent"


def test_sglang_hands_over(start: Start) -> None:
    (bootstrap,) = ports(1)
    mode = ("--personality", "sglang", "--grpc", "--disaggregation-mode")
    prefill = start(*mode, "prefill", "--disaggregation-bootstrap-port", str(bootstrap))
    decode = start(*mode, "decode", "--name", "d0")
    halves = ("--prefill", url(prefill), str(bootstrap), "--decode", url(decode))
    router = smg(start, "--pd-disaggregation", *halves)
    open_to_all(router, prefill=1, decode=1)
    answer = router.complete("a b c").data
    assert (answer["choices"][0]["text"], answer["system_fingerprint"]) == ("a b c", "d0")
    assert parts(prefill) == ["prefill"]
    assert parts(decode) == ["decode:handed-over"]


def asked(worker: Program, ids: Sequence[int], **more: Any) -> Any:
    """The last message of an answer, over a channel of the test's own."""
    with grpc.insecure_channel(f"127.0.0.1:{worker.port}") as channel:
        stub = vllm_engine_pb2_grpc.VllmEngineStub(channel)
        sampling = vllm.SamplingParams(max_tokens=4)
        message = vllm.GenerateRequest(
            request_id="r", tokenized=vllm.TokenizedInput(input_ids=ids), sampling_params=sampling, **more
        )
        return list(stub.Generate(message))[-1].complete


def test_what_is_wrong_has_a_status(start: Start) -> None:
    worker = start("--grpc", "--dp-size", "2")
    assert list(asked(worker, [7, 8, 9], data_parallel_rank=1).output_ids) == [7, 8, 9]
    wrong: list[dict[str, Any]] = [{"ids": []}, {"ids": [1], "data_parallel_rank": 2}]
    for words in (*wrong, {"ids": [1], "kv_transfer_params_json": "{"}):
        with pytest.raises(grpc.RpcError) as refused:
            asked(worker, **words)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_it_fails_on_order(start: Start) -> None:
    worker = start("--grpc", "--error-after-requests", "1")
    asked(worker, [1])
    with pytest.raises(grpc.RpcError) as refused:
        asked(worker, [1])
    assert refused.value.code() is grpc.StatusCode.INTERNAL
    dying = start("--grpc", "--fail-after-requests", "1", "--exit-code", "9")
    asked(dying, [1])
    assert dying.wait() == 9


@pytest.mark.parametrize("engine", ENGINES)
def test_health_tells_when_the_model_is_loaded(start: Start, engine: str) -> None:
    """vLLM's port is closed until then, SGLang's says that it does not serve."""
    worker = start("--personality", engine, "--grpc", "--startup-delay", "1.5", speaks=False)
    with grpc.insecure_channel(f"127.0.0.1:{worker.port}") as channel:
        stub = health_pb2_grpc.HealthStub(channel)

        def status() -> str:
            try:
                return str(health_pb2.HealthCheckResponse.ServingStatus.Name(stub.Check(wanted).status))
            except grpc.RpcError as error:
                return str(error.code().name)

        wanted = health_pb2.HealthCheckRequest()
        first = until(lambda: status(), "a word")
        assert first == ("UNAVAILABLE" if engine == "vllm" else "NOT_SERVING")
        until(lambda: status() == "SERVING", "the model")


def test_a_busy_port_is_named(start: Start) -> None:
    first = start("--grpc")
    second = start.run([*WORKER, "--grpc", "--port", str(first.port)])
    assert second.wait() == 1
    assert f"cannot listen on 127.0.0.1:{first.port}" in second.text


LACKING = """
import sys
sys.modules[sys.argv.pop(1)] = None
from launcher.sim.process import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("module", "words", "advice"),
    [
        ("smg_grpc_proto", ["--grpc"], "pip install smg-grpc-proto grpcio-health-checking"),
        ("zmq", ["--kv-events-config", '{"enable_kv_cache_events": true}'], "pip install pyzmq msgspec"),
    ],
)
def test_a_python_without_the_packages_says_what_to_install(module, words, advice):
    line = [sys.executable, "-c", LACKING, module, "--host=127.0.0.1", "--port=0", *words]
    ended = subprocess.run(line, capture_output=True, text=True, cwd=ROOT)
    assert ended.returncode == 1
    assert ended.stderr.startswith("sim: error: to ")
    assert advice in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
