"""Prefill to decode in both engines' ways, and how each shows when it did not happen."""

import json
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from launcher.sim.handoff import CAPACITY, Lost, Store, fetch, record
from tests.sim.processes import Answer, Program, Start, ports

WANTED = {
    "do_remote_decode": True,
    "do_remote_prefill": False,
    "remote_engine_id": None,
    "remote_block_ids": None,
    "remote_host": None,
    "remote_port": None,
}
"""What a router asks of a vLLM prefill worker."""


def vllm(start: Start, name: str, role: str, *words: str, **more: str) -> Program:
    """A vLLM worker with a NIXL connector; its side channel is at a free port."""
    config = json.dumps({"kv_connector": "NixlConnector", "kv_role": role, **more})
    (port,) = ports(1)
    env = {"VLLM_NIXL_SIDE_CHANNEL_HOST": "127.0.0.1", "VLLM_NIXL_SIDE_CHANNEL_PORT": str(port)}
    return start("--name", name, "--kv-transfer-config", config, *words, env=env)


def how(answer: Answer) -> Any:
    """How the prompt got there, by the answer: `handed-over by NAME`, `recomputed`, or the part played."""
    assert answer.status == 200, answer.body
    sim = answer.data["sim"]
    end = answer.data["system_fingerprint"].partition(":")[2]
    assert end == ("recomputed" if sim["recomputed"] else "handed-over" if sim["handed_over"] else "")
    return f"handed-over by {sim['prefilled_by']}" if sim["handed_over"] else end or sim["part"]


def counted(worker: Program) -> tuple[float, ...]:
    """Prompts computed for others, fetched, recomputed."""
    found = worker.metrics()
    names = ("prefilled", "handed_over", "recomputed")
    return tuple(sum(found[at] for at in found if at.startswith(f"sim:{name}_requests_total")) for name in names)


Pair = tuple[Program, Program]


@pytest.fixture(scope="module")
def pair(shared: Start) -> Pair:
    """A vLLM prefill worker and a decode worker."""
    return vllm(shared, "p0", "kv_producer"), vllm(shared, "d0", "kv_consumer")


def test_vllm_hands_over(pair: Pair) -> None:
    prefill, decode = pair
    before = (*counted(prefill), *counted(decode))
    first = prefill.complete("a b c", max_tokens=1, min_tokens=1, kv_transfer_params=WANTED)
    params = first.data["kv_transfer_params"]
    assert (how(first), params["do_remote_prefill"], params["do_remote_decode"]) == ("prefill", True, False)
    assert (params["remote_engine_id"], params["remote_host"], params["tp_size"]) == ("p0", "127.0.0.1", 1)
    assert params["remote_block_ids"]
    second = decode.complete("a b c", kv_transfer_params=params)
    assert how(second) == "handed-over by p0"
    assert second.data["choices"][0]["text"] == "a b c"
    after = (*counted(prefill), *counted(decode))
    assert [new - old for old, new in zip(before, after, strict=True)] == [1, 0, 0, 0, 1, 0]


def test_vllm_counts_the_tokens_it_fetched(pair: Pair) -> None:
    prefill, decode = pair
    name = 'vllm:external_prefix_cache_hits_total{engine="0",model_name="tiny"}'
    before = decode.metrics()[name]
    params = prefill.complete("a b c", max_tokens=1, kv_transfer_params=WANTED).data["kv_transfer_params"]
    decode.complete("a b c", kv_transfer_params=params)
    assert decode.metrics()[name] - before == 3


def test_vllm_workers_may_be_both(start: Start) -> None:
    prefill, decode = vllm(start, "p0", "kv_both"), vllm(start, "d0", "kv_both")
    params = prefill.complete("a b", max_tokens=1, kv_transfer_params=WANTED).data["kv_transfer_params"]
    assert how(decode.complete("a b", kv_transfer_params=params)) == "handed-over by p0"
    assert how(decode.complete("a b")) == "recomputed"


def test_vllm_hands_over_from_the_rank_that_served(start: Start, pair: Pair) -> None:
    prefill, decode = vllm(start, "p1", "kv_both", "--dp-size", "2"), pair[1]
    asked = {"prompt": "a", "max_tokens": 1, "kv_transfer_params": WANTED}
    found = [
        prefill.ask("/v1/completions", asked, {"X-data-parallel-rank": rank}).data["kv_transfer_params"]
        for rank in ("0", "1")
    ]
    assert found[1]["remote_port"] == found[0]["remote_port"] + 1
    assert [how(decode.complete("a", kv_transfer_params=params)) for params in found] == ["handed-over by p1"] * 2


def test_vllm_streams_what_was_handed_over(pair: Pair) -> None:
    prefill, decode = pair
    params = prefill.chat("a b", max_tokens=1, kv_transfer_params=WANTED).data["kv_transfer_params"]
    events = decode.chat("a b", stream=True, kv_transfer_params=params).events
    assert {event["sim"]["prefilled_by"] for event in events} == {"p0"}


SILENT: list[tuple[str, Mapping[str, Any] | None]] = [
    ("no parameters", None),
    ("no remote prefill", {"do_remote_prefill": False}),
    ("half the parameters", {"do_remote_prefill": True, "remote_host": "127.0.0.1", "remote_port": 1}),
    ("as asked of a prefill, nulls", {**WANTED, "do_remote_decode": False, "do_remote_prefill": True}),
]


@pytest.mark.parametrize(("params"), [params for _, params in SILENT], ids=[name for name, _ in SILENT])
def test_vllm_recomputes_in_silence(pair: Pair, params: Mapping[str, Any] | None) -> None:
    decode = pair[1]
    before = counted(decode)
    answer = decode.complete("a b c", kv_transfer_params=params)
    assert how(answer) == "recomputed"
    assert answer.data["choices"][0]["text"] == "a b c"
    assert [new - old for old, new in zip(before, counted(decode), strict=True)] == [0, 0, 1]


def test_vllm_prefill_alone_is_no_recomputing(pair: Pair) -> None:
    before = counted(pair[0])
    assert how(pair[0].complete()) == "aggregate"
    assert counted(pair[0]) == before


def changed(params: Mapping[str, Any], what: str) -> tuple[dict[str, Any], str]:
    """`params` with one thing wrong, and what the failure must say."""
    (closed,) = ports(1)
    wrong: Mapping[str, tuple[dict[str, Any], str]] = {
        "port": ({"remote_port": closed}, f"127.0.0.1:{closed}: [Errno 111] Connection refused"),
        "host": ({"remote_host": "127.0.0.2"}, "no hand-over from 127.0.0.2:"),
        "request": ({"remote_request_id": "cmpl-other"}, "it has no such prompt"),
        "huge port": ({"remote_port": 99999}, "no hand-over from 127.0.0.1:99999"),
    }
    return {**params, **wrong[what][0]}, wrong[what][1]


@pytest.mark.parametrize("what", ["port", "host", "request", "huge port"])
def test_vllm_fails_where_nothing_can_be_fetched(pair: Pair, what: str) -> None:
    prefill, decode = pair
    before = counted(decode)
    params = prefill.complete(max_tokens=1, kv_transfer_params=WANTED).data["kv_transfer_params"]
    wrong, text = changed(params, what)
    answer = decode.complete(kv_transfer_params=wrong)
    assert (answer.status, answer.data["error"]["type"]) == (500, "InternalServerError")
    assert text in answer.data["error"]["message"]
    assert counted(decode) == before


def test_vllm_recomputes_by_policy(start: Start, pair: Pair) -> None:
    prefill, decode = pair[0], vllm(start, "d1", "kv_consumer", kv_load_failure_policy="recompute")
    params = prefill.complete(max_tokens=1, kv_transfer_params=WANTED).data["kv_transfer_params"]
    assert how(decode.complete(kv_transfer_params=changed(params, "port")[0])) == "recomputed"


def test_vllm_refuses_another_prompt(pair: Pair) -> None:
    prefill, decode = pair
    params = prefill.complete("a b", max_tokens=1, kv_transfer_params=WANTED).data["kv_transfer_params"]
    answer = decode.complete("a c", kv_transfer_params=params)
    assert (answer.status, "another one" in answer.data["error"]["message"]) == (500, True)


CONNECTORS = [
    ({"kv_connector": "OffloadingConnector", "kv_role": "kv_both"}, "aggregate"),
    (
        {
            "kv_connector": "MultiConnector",
            "kv_role": "kv_consumer",
            "kv_connector_extra_config": {
                "connectors": [
                    {"kv_connector": "OffloadingConnector", "kv_role": "kv_both"},
                    {"kv_connector": "NixlConnector", "kv_role": "kv_both"},
                ]
            },
        },
        "recomputed",
    ),
]


@pytest.mark.parametrize(("config", "found"), CONNECTORS)
def test_only_nixl_hands_over(start: Start, config: Mapping[str, Any], found: str) -> None:
    worker = start("--kv-transfer-config", json.dumps(config))
    assert how(worker.complete()) == found


def sglang(start: Start, mode: str, name: str, *words: str) -> Program:
    """An SGLang worker of one mode."""
    return start("--personality", "sglang", "--disaggregation-mode", mode, "--name", name, *words)


def both(
    prefill: Program, decode: Program, prompt: Any, fields: Mapping[str, Any], **more: Any
) -> tuple[Answer, Answer]:
    """The same request to both legs at once, as the routers send it."""
    with ThreadPoolExecutor(2) as pool:
        legs = [pool.submit(worker.complete, prompt, **fields, **more) for worker in (prefill, decode)]
        return legs[0].result(), legs[1].result()


@dataclass(frozen=True)
class Trio:
    """An SGLang prefill worker and its bootstrap port, a decode worker, and one of each that soon loses patience."""

    prefill: Program
    decode: Program
    hasty_prefill: Program
    hasty_decode: Program
    port: int

    def room(self, number: int, **wrong: Any) -> dict[str, Any]:
        """What both legs are told."""
        return {"bootstrap_host": "127.0.0.1", "bootstrap_port": self.port, "bootstrap_room": number, **wrong}


@pytest.fixture(scope="module")
def trio(shared: Start) -> Trio:
    """SGLang workers of both modes."""
    bootstrap, other = ports(2)
    hasty = ("--handoff-timeout", "0.2")
    return Trio(
        sglang(shared, "prefill", "p0", "--disaggregation-bootstrap-port", str(bootstrap)),
        sglang(shared, "decode", "d0"),
        sglang(shared, "prefill", "p1", "--disaggregation-bootstrap-port", str(other), *hasty),
        sglang(shared, "decode", "d1", *hasty),
        bootstrap,
    )


def test_sglang_hands_over(trio: Trio) -> None:
    before = (*counted(trio.prefill), *counted(trio.decode))
    first, second = both(trio.prefill, trio.decode, "a b c", trio.room(7))
    assert (how(first), first.data["usage"]["completion_tokens"]) == ("prefill", 1)
    assert (how(second), second.data["choices"][0]["text"]) == ("handed-over by p0", "a b c")
    after = (*counted(trio.prefill), *counted(trio.decode))
    assert [new - old for old, new in zip(before, after, strict=True)] == [1, 0, 0, 0, 1, 0]


def test_sglang_tells_its_mode(trio: Trio) -> None:
    modes = [worker.ask("/server_info").data["disaggregation_mode"] for worker in (trio.prefill, trio.decode)]
    assert modes == ["prefill", "decode"]


def test_sglang_hands_over_a_batch(trio: Trio) -> None:
    fields = {
        "bootstrap_host": ["127.0.0.1"] * 2,
        "bootstrap_port": [trio.port] * 2,
        "bootstrap_room": [1, 2],
    }
    _, second = both(trio.prefill, trio.decode, ["a b", "c"], fields)
    assert (how(second), [choice["text"] for choice in second.data["choices"]]) == ("handed-over by p0", ["a b", "c"])
    short = trio.decode.complete(["a", "b"], **{**fields, "bootstrap_room": [1]})
    assert (short.status, "2 are wanted" in short.data["message"]) == (400, True)


def test_sglang_bootstrap_server_listens(trio: Trio) -> None:
    with socket.create_connection(("127.0.0.1", trio.port)) as sock:
        sock.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        assert sock.recv(65536).startswith(b"HTTP/1.1 200 OK")


def test_sglang_decode_says_it_recomputed(trio: Trio) -> None:
    before = counted(trio.decode)
    assert how(trio.decode.complete()) == "recomputed"
    assert [new - old for old, new in zip(before, counted(trio.decode), strict=True)] == [0, 0, 1]


ADDRESSES = [
    ({"bootstrap_port": None}, "127.0.0.1:None, room 7: an address is missing"),
    ({"bootstrap_host": None}, "None:"),
    ({"bootstrap_host": "127.0.0.2"}, "no hand-over from 127.0.0.2:"),
    ({"bootstrap_room": 8}, "it has no such prompt"),
]


@pytest.mark.parametrize(("wrong", "text"), ADDRESSES)
def test_sglang_fails_where_nothing_can_be_fetched(trio: Trio, wrong: Mapping[str, Any], text: str) -> None:
    answer = trio.hasty_decode.complete(**trio.room(7, **wrong))
    assert (answer.status, answer.data["type"]) == (500, "InternalServerError")
    assert text in answer.data["message"]


def test_sglang_fails_at_the_wrong_port(trio: Trio) -> None:
    (closed,) = ports(1)
    answer = trio.decode.complete(**trio.room(7, bootstrap_port=closed))
    assert (answer.status, f"127.0.0.1:{closed}" in answer.data["message"]) == (500, True)
    other = trio.decode.complete(**trio.room(7, bootstrap_port=trio.decode.port))
    assert (other.status, "it has no such prompt" in other.data["message"]) == (500, True)


def test_sglang_prefill_fails_when_nobody_fetches(trio: Trio) -> None:
    answer = trio.hasty_prefill.complete(**trio.room(7))
    assert (answer.status, "no decode worker fetched" in answer.data["message"]) == (500, True)
    stream = trio.hasty_prefill.complete(**trio.room(7), stream=True).events
    assert stream[-1]["error"]["code"] == 500


def test_a_prompt_handed_over_costs_no_first_token_latency(start: Start, pair: Pair) -> None:
    decode = vllm(start, "d1", "kv_consumer", "--first-token-latency", "60")
    params = pair[0].complete(max_tokens=1, kv_transfer_params=WANTED).data["kv_transfer_params"]
    assert how(decode.complete(kv_transfer_params=params)) == "handed-over by p0"


@pytest.mark.parametrize(
    "spoken", [b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n[]", b"HTTP/1.1 200 OK\r\n\r\n{", b""]
)
def test_what_listens_there_may_be_anything(spoken: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:

        def stranger() -> None:
            sock, _ = server.accept()
            with sock:
                sock.recv(4096)
                sock.sendall(spoken)

        pool.submit(stranger)
        with pytest.raises(Lost, match="what listens there is no prefill worker"):
            fetch("127.0.0.1", server.getsockname()[1], "key", 1.0)


def test_store_keeps_a_bounded_number() -> None:
    store = Store()
    for number in range(CAPACITY + 1):
        store.put(str(number), record("w", ["a"]))
    assert store.take(b"0".hex(), 0.0) is None
    assert store.take(str(CAPACITY).encode().hex(), 0.0) == record("w", ["a"])
    assert store.take(str(CAPACITY).encode().hex(), 0.0) is None, "each is taken once"
