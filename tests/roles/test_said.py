"""Ports that a recipe's own words name: looked at before anything starts, and nobody else's."""

import json
from typing import Any

import pytest

from launcher.checks import check
from launcher.checks.audit import audit
from launcher.model.facts import Answer, Port, Question
from launcher.plan.plan import plan
from launcher.text.diagnostic import errors
from tests.jobs import adapters, job, role, router, site

TP, DP, EVENTS = "tensor-parallel-size", "data-parallel-size", "kv-events-config"
SERVE = {"enable_kv_cache_events": True, "replay_endpoint": "tcp://*:7100"}


NAMED = ("kv_events_config", "vllm_ec_side_channel_port", "engine_info_bootstrap_port")


def named(manifest: str, **fields: Any) -> list[set[int]]:
    """The ports that the recipe names, of each step of a worker."""
    made = job(role("worker", manifest, **fields), router("smg"), on=site("h100"), model={"path": "/m"})
    assert not errors(check(made, adapters()))
    steps = [step for step in plan(made, adapters()).steps if step.role == "worker"]
    return [{port for port, name in step.listens.items() if name.startswith(NAMED)} for step in steps]


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"gpus": 8, "flags": {TP: 8, EVENTS: SERVE}}, [{5557, 7100}]),
        ({"gpus": 8, "flags": {TP: 4, DP: 2, EVENTS: SERVE}}, [{5557, 5558, 7100, 7101}]),
        # Each node has half of the ranks.
        (
            {"gpus": 16, "flags": {TP: 4, DP: 4, EVENTS: SERVE}},
            [{5557, 5558, 7100, 7101}, {5559, 5560, 7102, 7103}],
        ),
        ({"gpus": 8, "flags": {TP: 8, EVENTS: {**SERVE, "endpoint": "tcp://10.0.0.9:5557"}}}, [{7100}]),
        ({"gpus": 8, "flags": {TP: 8}, "env": {"VLLM_EC_SIDE_CHANNEL_PORT": "5601"}}, [{5601}]),
        ({"gpus": 8, "flags": {TP: 8}, "env": {"VLLM_EC_SIDE_CHANNEL_PORT": "many"}}, [set()]),
    ],
)
def test_of_vllm(fields: dict[str, Any], wanted: list[set[int]]) -> None:
    assert named("vllm", **fields) == wanted


def test_of_sglang() -> None:
    flags = {"tp-size": 8, "engine-info-bootstrap-port": 6789, EVENTS: json.dumps({"publisher": "zmq"})}
    assert named("sglang", gpus=8, flags=flags) == [{5557, 6789}]


def test_they_stay_where_the_recipe_has_them() -> None:
    """A busy one is told with what can be done, which is not to move ours."""
    flags = {"engine-info-bootstrap-port": 6789}
    made = job(role("worker", "sglang", flags=flags), router("smg"), model={"path": "/m"})
    facts: dict[Question, Answer] = {
        Port(number): Answer(yes=number != 6789, text="in use by `x`") for number in range(1, 65536)
    }
    found = audit(made, plan(made, adapters()), facts)[0]
    (busy,) = [each for each in found if each.code == "port-in-use"]
    assert busy.message == "port 6789 (`engine_info_bootstrap_port` of worker-0) is in use by `x`"
    assert busy.help == "end the other program, or name another port"
