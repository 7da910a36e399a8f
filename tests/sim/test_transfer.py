"""Prefill to decode in vLLM's way, and how it shows that it did not happen."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.sim.legs import counted, grown, how
from tests.sim.processes import Program, Start, ports

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
    assert grown(before, after) == (1, 0, 0, 0, 1, 0)


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
    assert grown(before, counted(decode)) == (0, 0, 1)


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


def test_a_prompt_handed_over_costs_no_first_token_latency(start: Start, pair: Pair) -> None:
    decode = vllm(start, "d1", "kv_consumer", "--first-token-latency", "60")
    params = pair[0].complete(max_tokens=1, kv_transfer_params=WANTED).data["kv_transfer_params"]
    assert how(decode.complete(kv_transfer_params=params)) == "handed-over by p0"
