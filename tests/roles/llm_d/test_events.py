"""KV events both ways round: what workers are told of where to send them, and the EPP of where they come in."""

import json
from pathlib import Path
from typing import Any

from launcher.plan.step import Plan, Step
from launcher.run.script import ref
from tests.roles.llm_d.test_plan import data, made, step

PLUGINS = (
    "router.epp_config.plugins=["
    '{type="token-producer"},{type="precise-prefix-cache-producer"},'
    '{type="prefix-cache-scorer",parameters={prefixMatchInfoProducerName="precise-prefix-cache-producer"}}]'
)
RANKS = """
schema = 1
name = "ranks"
model = { path = "/m", served_name = "tiny" }
router.kind = "llm-d"
defaults.manifest = "vllm"
defaults.kv_events = true
defaults.flags = { tensor-parallel-size = 2, data-parallel-size = %d, data-parallel-external-lb = true }
"""
WHOLE = RANKS % 4 + "roles.worker = { gpus = 8, replicas = 2 }\n"
HALVES = RANKS % 2 + 'defaults.kv = "nixl"\ndefaults.gpus = 4\nroles = { decode = {}, prefill = {} }\n'


def precise(folder: Path, recipe: str, *sets: str) -> Plan:
    return made(folder, recipe, PLUGINS, *sets)


def told(worker: Step) -> dict[str, Any]:
    """What a worker is told of KV events."""
    found: dict[str, Any] = json.loads(next(word for word in worker.words if "kv-events" in word).partition("=")[2])
    return found


def test_every_rank_connects_to_the_epp_which_has_the_only_port(tmp_path: Path) -> None:
    """vLLM adds its rank to the port it is told."""
    found = precise(tmp_path, WHOLE)
    workers = [each for each in found.steps if each.role == "worker"]
    assert len(workers) == 8
    for worker in workers:
        rank = int(next(word for word in worker.words if word.startswith("--data-parallel-rank=")).partition("=")[2])
        assert told(worker)["endpoint"] == f"tcp://{ref('ip', 0)}:{5557 - rank}"
        assert told(worker)["topic"] == f"kv@{worker.env['LAUNCH_IP']}:{worker.ports['http']}@tiny"
        assert "kv_events" not in worker.ports
    assert step(found, "epp").ports["kv_events"] == 5557
    producer = next(each for each in data(found, "epp")["plugins"] if each["type"] == "precise-prefix-cache-producer")
    assert producer["parameters"]["kvEventsConfig"] == {"zmqEndpoint": "tcp://*:5557", "discoverPods": False}


def test_the_topic_names_the_endpoint_that_the_epp_picks(tmp_path: Path) -> None:
    """Of a decode worker that is its sidecar."""
    found = precise(tmp_path, HALVES)
    entries = {each["name"]: f"{each['address']}:{each['port']}" for each in data(found, "endpoints")["endpoints"]}
    for worker in found.steps:
        if worker.role in ("prefill", "decode"):
            topic = told(worker)["topic"].replace(ref("ip", 0), "10.0.0.1").replace(ref("ip", 1), "10.0.0.2")
            assert topic == f"kv@{entries[worker.name]}@tiny"


def test_the_first_prefill_worker_makes_tokens(tmp_path: Path) -> None:
    for recipe, name in ((HALVES, "prefill-0"), (WHOLE, "worker-0")):
        found = precise(tmp_path, recipe)
        tokens = next(each for each in data(found, "epp")["plugins"] if each["type"] == "token-producer")["parameters"]
        url = next(each.url for each in found.endpoints if each.name == name)
        assert tokens["vllm"]["url"].rpartition(":")[2] == url.rpartition(":")[2]
        assert tokens["modelName"] == "tiny"
        assert [each.name for each in found.steps if "--enable-scale-out" in each.words] == [name]


def test_older_versions_render_without_being_told(tmp_path: Path) -> None:
    found = precise(tmp_path, WHOLE, "defaults.version=0.27.1")
    assert not any("--enable-scale-out" in each.words for each in found.steps)


def test_elsewhere_each_worker_offers_its_events_itself(tmp_path: Path) -> None:
    found = made(tmp_path, WHOLE, "router.kind=smg")
    worker = step(found, "worker-0")
    assert told(worker)["endpoint"] == f"tcp://*:{worker.ports['kv_events']}"
