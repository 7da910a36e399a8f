import json
from typing import Any

import pytest

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
