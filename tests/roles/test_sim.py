import json
from typing import Any

import pytest

from launcher.checks import check
from launcher.model.job import Role
from launcher.plan.plan import plan
from launcher.plan.step import Plan, Step
from launcher.run.script import ref
from launcher.sim.parser import Settings, settings
from tests.jobs import adapters, job, role, router, site

IP = ref("ip", 0)


def planned(*roles: Role, **fields: Any) -> Plan:
    return plan(job(*roles, router(), **fields), adapters())


def started(step: Step) -> Settings:
    """The settings the simulated engine reads from the step's words."""
    assert step.words[:2] == (ref("python"), f"{ref('run')}/sim.pyz")
    return settings(step.words[2:])


def test_an_aggregate_worker():
    found = planned(role("worker", flags={"token-latency": 0.5, "never-healthy": True}))
    read = started(found.steps[0])
    assert (read.host, read.port, read.served_name, read.name) == (IP, 6100, "tiny", "worker-0")
    assert (read.token_latency, read.never_healthy, read.mode, read.transfer) == (0.5, True, "null", None)
    assert found.endpoints[0].handoff == "none"


def test_the_user_may_name_it():
    assert started(planned(role("worker", flags={"name": "mine"})).steps[0]).name == "mine"


def test_it_is_told_the_model():
    assert started(planned(role("worker"), model={"path": "/m", "served_name": "x"}).steps[0]).model == "/m"


def test_sglang_hands_over_by_bootstrap():
    flags = {"personality": "sglang"}
    found = planned(role("prefill", flags=flags, replicas=2), role("decode", flags=flags))
    reads = [started(step) for step in found.steps[:3]]
    assert [(read.mode, read.bootstrap_port) for read in reads] == [
        ("prefill", 7200),
        ("prefill", 7201),
        ("decode", 8998),
    ]
    assert [(e.mode, e.wire, e.handoff, e.bootstrap) for e in found.endpoints] == [
        ("prefill", "sglang", "bootstrap", 7200),
        ("prefill", "sglang", "bootstrap", 7201),
        ("decode", "sglang", "bootstrap", None),
    ]


def test_vllm_hands_over_by_kv_transfer_params():
    found = planned(role("prefill", replicas=2, flags={"dp-size": 4}), role("decode"))
    assert all(started(step).transfer for step in found.steps[:3])
    config = next(word for word in found.steps[0].words if word.startswith("--kv-transfer-config="))
    assert json.loads(config.partition("=")[2]) == {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
    # A side channel for each rank, where the other nodes reach it.
    assert [step.env["VLLM_NIXL_SIDE_CHANNEL_PORT"] for step in found.steps[:3]] == ["5400", "5404", "5408"]
    assert {step.env["VLLM_NIXL_SIDE_CHANNEL_HOST"] for step in found.steps[:3]} == {IP}
    assert [(e.handoff, e.ranks) for e in found.endpoints] == [("kv_transfer_params", n) for n in (4, 4, 1)]


@pytest.mark.parametrize("size", [0, -1, True, "4", 10**9])
def test_a_size_that_is_none_counts_as_one_rank(size):
    found = planned(role("worker", flags={"dp-size": size}))
    assert found.endpoints[0].ranks == 1


def test_a_replica_larger_than_a_node_is_one_server():
    found = plan(job(role("worker", gpus=8), router(), on=site("gb300")), adapters())
    assert [(step.name, step.nodes) for step in found.steps] == [("worker-0", (0,)), ("router", (0,))]


def test_kv_is_what_the_halves_have_anyway():
    said, silent = (planned(role("prefill", kv=kv), role("decode", kv=kv)) for kv in ("nixl", None))
    assert said == silent
    alone = planned(role("worker", kv="nixl"))
    assert started(alone.steps[0]).transfer is not None
    assert (alone.endpoints[0].handoff, alone.endpoints[0].connectors) == ("none", ("NixlConnector",))


def test_mooncake_has_a_bootstrap_server_before_each_prefill_worker():
    found = planned(role("prefill", kv="mooncake", replicas=2), role("decode", kv="mooncake"))
    assert [step.env.get("VLLM_MOONCAKE_BOOTSTRAP_PORT") for step in found.steps[:3]] == ["7200", "7201", None]
    assert [(each.bootstrap, each.connectors) for each in found.endpoints] == [
        (7200, ("MooncakeConnector",)), (7201, ("MooncakeConnector",)), (None, ("MooncakeConnector",)),
    ]  # fmt: skip
    transfers = [started(step).transfer for step in found.steps[:3]]
    assert [each.role for each in transfers if each] == ["kv_producer", "kv_producer", "kv_consumer"]


def test_kv_events_are_published_under_the_workers_own_topic():
    found = planned(role("worker", kv_events=True, replicas=2, flags={"dp-size": 2}))
    events = [started(step).events for step in found.steps[:2]]
    assert [(each.endpoint, each.topic, each.maps) for each in events if each] == [
        ("tcp://*:5550", f"kv@{IP}:6100@tiny", True),
        ("tcp://*:5552", f"kv@{IP}:6132@tiny", True),
    ]
    sglang = started(planned(role("worker", kv_events=True, flags={"personality": "sglang"})).steps[0])
    assert sglang.events is not None
    assert (sglang.events.endpoint, sglang.events.maps) == ("tcp://*:5550", False)


def test_grpc_has_a_port_that_opens_and_no_metrics():
    found = planned(role("worker", flags={"grpc": True}))
    assert started(found.steps[0]).grpc
    assert [(gate.kind, gate.url) for gate in found.steps[0].gates] == [("tcp", f"tcp://{IP}:6100")]
    assert (found.endpoints[0].url, found.endpoints[0].scheme) == (f"grpc://{IP}:6100", "grpc")
    assert [target.step for target in found.targets] == ["router"]


def test_tensorrt_llm_has_a_wire_of_its_own():
    flags = {"personality": "trtllm"}
    found = planned(role("prefill", flags=flags), role("decode", flags=flags))
    assert {(each.wire, each.handoff, each.connectors) for each in found.endpoints} == {("trtllm", "none", ())}
    assert not any("kv-transfer" in word for step in found.steps for word in step.words)
    judged = check(job(role("prefill", flags=flags), role("decode", flags=flags), router()), adapters())
    assert "handoff-lost" in {finding.code for finding in judged}


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"kv": "nixl"}, []),
        ({"kv": "mooncake"}, []),
        ({"kv": "mooncake", "flags": {"personality": "sglang"}}, []),
        ({"kv": "nixl", "flags": {"personality": "trtllm"}}, ["`kv` of TensorRT-LLM"]),
        ({"kv_events": True, "flags": {"personality": "trtllm"}}, ["`kv_events` of TensorRT-LLM"]),
        ({"flags": {"personality": "trtllm", "grpc": True}}, ["`grpc` of TensorRT-LLM"]),
    ],
)
def test_what_nothing_simulates_is_refused(fields, wanted):
    found = check(job(role("worker", **fields), router()), adapters())
    assert [each.message for each in found if each.code == "not-simulated"] == [
        f"nothing simulates {what}" for what in wanted
    ]
