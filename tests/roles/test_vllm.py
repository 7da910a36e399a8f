"""What vLLM's servers are told: connectors, events, gRPC, and words that every version it is for has."""

import json
from typing import Any

import pytest

from launcher.checks import check
from launcher.model.catalogue import Catalogue, load
from launcher.plan.plan import plan
from launcher.plan.step import Plan, Step
from launcher.roles.vllm import SERVING
from launcher.run.script import ref, shown
from launcher.text.diagnostic import errors
from tests.jobs import ROOT, adapters, job, role, router, site

FOLDER = ROOT / "manifests" / "flags" / "vllm"
CATALOGUES = {path.stem: load(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")}
NEWEST = CATALOGUES["0.33.0"]
OFFLOAD: dict[str, Any] = {
    "kv_connector": "MultiConnector",
    "kv_role": "kv_both",
    "kv_connector_extra_config": {
        "connectors": [
            {"kv_connector": "NixlConnector", "kv_role": "kv_both"},
            {
                "kv_connector": "OffloadingConnector",
                "kv_role": "kv_both",
                "kv_connector_extra_config": {"cpu_bytes_to_use": 1 << 30},
            },
        ]
    },
}


def planned(*names: str, kind: str = "vllm-router", catalogue: Catalogue = NEWEST, **fields: Any) -> Plan:
    roles = [role(name, "vllm", **{"gpus": 4, "catalogue": catalogue, **fields}) for name in names or ("worker",)]
    made = job(*roles, router(kind), on=site("gb300"), model={"path": "/m", "served_name": "tiny"})
    assert not errors(check(made, adapters()))
    return plan(made, adapters())


def said(step: Step) -> dict[str, str]:
    return dict(word[2:].partition("=")[::2] for word in step.words if word.startswith("--"))


def size(tp: int, dp: int = 1, **more: Any) -> dict[str, Any]:
    return {"tensor-parallel-size": tp, "data-parallel-size": dp, **more}


def test_a_server_is_told_what_it_serves_and_where() -> None:
    step = planned(flags=size(4)).steps[0]
    assert step.words[:3] == ("vllm", "serve", "/m")
    told = said(step)
    assert (told["served-model-name"], told["host"], told["port"]) == ("tiny", ref("ip", 0), "6100")
    assert step.env["VLLM_HOST_IP"] == ref("ip", 0)
    assert [gate.url for gate in step.gates] == [
        f"http://{ref('ip', 0)}:6100/{page}" for page in ("health", "v1/models")
    ]


def test_nixl_is_told_an_address_that_others_reach_and_a_port_for_each_rank() -> None:
    found = planned("prefill", "decode", kv="nixl", flags=size(1, 2), gpus=2)
    first, second = found.steps[:2]
    assert json.loads(said(first)["kv-transfer-config"]) == {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
    assert [step.env["VLLM_NIXL_SIDE_CHANNEL_PORT"] for step in (first, second)] == ["5400", "5402"]
    assert {step.env["VLLM_NIXL_SIDE_CHANNEL_HOST"] for step in (first, second)} == {ref("ip", 0)}
    assert second.listens == {6132: "http", 5402: "nixl", 5403: "nixl"}
    assert {each.handoff for each in found.endpoints} == {"kv_transfer_params"}


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (size(2), ["20000", "20050"]),
        (size(1, 2, **{"enable-expert-parallel": True}), ["20000", "20050"]),
        (size(1, 2, **{"data-parallel-external-lb": True}), ["20000", "20050", "20100", "20150"]),
        # Each rank would search from there, at the same moment.
        (size(1, 2), [None, None]),
    ],
    ids=["tensor", "experts", "servers", "dense-ranks"],
)
def test_servers_on_a_node_search_for_ports_apart(flags: dict[str, Any], expected: list[str | None]) -> None:
    workers = [step for step in planned(flags=flags, gpus=2, replicas=2).steps if step.role == "worker"]
    assert {step.nodes for step in workers} == {(0,)}
    assert [step.env.get("VLLM_PORT") for step in workers] == expected


def test_a_connector_inside_another_gets_its_ports_too() -> None:
    found = planned("prefill", "decode", flags={**size(4), "kv-transfer-config": OFFLOAD})
    assert {each.handoff for each in found.endpoints} == {"kv_transfer_params"}
    assert all("VLLM_NIXL_SIDE_CHANNEL_PORT" in step.env for step in found.steps[:2])
    assert json.loads(said(found.steps[0])["kv-transfer-config"]) == OFFLOAD


def test_mooncake_has_a_bootstrap_port_that_the_router_is_told() -> None:
    found = planned("prefill", "decode", kv="mooncake", flags=size(4))
    roles = [json.loads(said(step)["kv-transfer-config"])["kv_role"] for step in found.steps[:2]]
    assert roles == ["kv_producer", "kv_consumer"]
    assert [step.env.get("VLLM_MOONCAKE_BOOTSTRAP_PORT") for step in found.steps[:2]] == ["7200", None]
    words = found.steps[2].words
    at = words.index("--prefill")
    assert words[at : at + 3] == ("--prefill", found.endpoints[0].url, "7200")
    assert "--kv-connector=mooncake" in words


def test_grpc_takes_the_place_of_http() -> None:
    found = planned("prefill", "decode", kind="smg", kv="nixl", flags=size(4, grpc=True))
    assert [each.url for each in found.endpoints] == [f"grpc://{ref('ip', node)}:6100" for node in (0, 1)]
    assert [gate.kind for step in found.steps[:2] for gate in step.gates] == ["tcp", "tcp"]
    assert [target.step for target in found.targets] == ["router"]
    words = found.steps[2].words
    # No port behind a prefill URL: nothing listens there.
    assert words[words.index("--prefill") + 2] == "--decode"


@pytest.mark.parametrize("table", ["flags", "config"])
@pytest.mark.parametrize("sizes", [size(1, 8), size(8)])
@pytest.mark.parametrize("serving", [{"grpc": True}, {"api_server_count": 2}])
def test_what_only_a_server_with_an_api_may_have_others_are_not_told(
    table: str, sizes: dict[str, Any], serving: dict[str, Any]
) -> None:
    fields: dict[str, Any] = {"flags": sizes, table: {**serving, **(sizes if table == "flags" else {"seed": 1})}}
    found = planned(kind="smg", gpus=8, **fields)
    leader, follower, _ = found.steps
    (name,) = (key.replace("_", "-") for key in serving)
    assert name in said(leader)
    assert not set(said(follower)) & {*SERVING}
    files = [file.data for file in found.files if file.path == "config/worker.yaml"]
    assert files == ([{"seed": 1}] if table == "config" else [])


@pytest.mark.parametrize("external", [False, True])
def test_events_say_which_endpoint_they_are_of(external: bool) -> None:
    flags = size(1, 4, **({"data-parallel-external-lb": True} if external else {}))
    found = planned(kv_events=True, flags=flags)
    configs = [json.loads(said(step)["kv-events-config"]) for step in found.steps[:-1]]
    # vLLM adds a rank's number to the port itself.
    assert {config["endpoint"] for config in configs} == {"tcp://*:5550"}
    assert [shown(config["topic"]) for config in configs] == [
        f"kv@{{ip0}}:{6100 + rank}@tiny" for rank in range(4 if external else 1)
    ]
    assert [step.ports["kv_events"] for step in found.steps[:-1]] == [5550 + n for n in range(len(configs))]


def test_the_engines_own_file_has_whole_names_and_what_it_says_counts_for_the_arithmetic() -> None:
    config = {"tensor_parallel_size": 2, "dp": 2, "kv-transfer-config": OFFLOAD, "no-enable-prefix-caching": True}
    found = planned("prefill", "decode", config=config)
    step = found.steps[0]
    at = step.words.index("--config")
    assert step.words[2:5] == ("/m", "--config", f"{ref('run')}/config/prefill.yaml")
    assert not any("parallel" in word for word in step.words[at:])
    files = {file.path: file.data for file in found.files}
    data = files["config/prefill.yaml"]
    assert data == files["config/decode.yaml"]
    assert {key: data[key] for key in data if key != "kv-transfer-config"} == {
        "tensor-parallel-size": 2, "data-parallel-size": 2, "no-enable-prefix-caching": True,
    }  # fmt: skip
    assert json.loads(data["kv-transfer-config"]) == OFFLOAD
    assert {(each.handoff, each.ranks) for each in found.endpoints} == {("kv_transfer_params", 2)}
    assert step.env["VLLM_NIXL_SIDE_CHANNEL_PORT"] == "5400"


LAYOUTS: dict[str, tuple[dict[str, Any], str]] = {
    "one": ({"flags": size(4)}, "smg"),
    "ranks": ({"flags": size(1, 4)}, "vllm-router"),
    "hybrid": ({"gpus": 8, "flags": size(1, 8)}, "vllm-router"),
    "headless": ({"gpus": 8, "flags": size(1, 8)}, "smg"),
    "external": ({"gpus": 8, "flags": size(2, 4, **{"data-parallel-external-lb": True})}, "smg"),
    "nodes": ({"gpus": 8, "flags": size(8)}, "smg"),
    "ranks over nodes": ({"gpus": 16, "flags": size(8, 2)}, "smg"),
    "events": ({"flags": size(4), "kv_events": True}, "smg"),
}


@pytest.mark.parametrize("version", sorted(CATALOGUES))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_version_has_the_words(layout: str, version: str) -> None:
    fields, kind = LAYOUTS[layout]
    catalogue = CATALOGUES[version]
    for step in planned(kind=kind, catalogue=catalogue, version=version, **fields).steps[:-1]:
        missing = [
            word for word in step.words if word.startswith("--") and not catalogue.find(word[2:].partition("=")[0])
        ]
        assert not missing


@pytest.mark.parametrize(
    ("layout", "urls"), [("hybrid", 2), ("headless", 1), ("external", 4), ("nodes", 1), ("ranks over nodes", 1)]
)
def test_routers_are_told_what_can_be_asked_and_scrape_targets_are_the_same(layout: str, urls: int) -> None:
    fields, kind = LAYOUTS[layout]
    found = planned(kind=kind, **fields)
    assert len(found.endpoints) == urls
    addresses = [target.address for target in found.targets if target.role == "worker"]
    assert addresses == [each.url.removeprefix("http://") for each in found.endpoints]
    told = next(step for step in found.steps if step.role == "router").words
    at = told.index("--worker-urls")
    assert told[at + 1 : at + 1 + urls] == tuple(each.url for each in found.endpoints)
