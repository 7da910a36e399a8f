"""What SGLang's servers are told, in every version, and what their sizes come to."""

import json
from typing import Any

import pytest

from launcher.checks import check
from launcher.model.catalogue import Catalogue, load
from launcher.plan.plan import plan
from launcher.plan.step import Plan, Step
from launcher.run.script import ref, shown
from launcher.text.diagnostic import errors
from tests.jobs import ROOT, adapters, cluster, job, role, router, site

FOLDER = ROOT / "manifests" / "flags" / "sglang"
CATALOGUES = {path.stem: load(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")}
NEWEST = CATALOGUES["0.5.23"]


def made(*names: str, catalogue: Catalogue = NEWEST, kind: str = "smg", **fields: Any) -> Any:
    fields = {"gpus": 4, "flags": {"tp-size": 4}, "catalogue": catalogue, **fields}
    roles = [role(name, "sglang", **fields) for name in names or ("worker",)]
    return job(*roles, router(kind), on=site("gb300"), model={"path": "/m", "served_name": "tiny"})


def planned(*names: str, **fields: Any) -> Plan:
    one = made(*names, **fields)
    assert not errors(check(one, adapters()))
    return plan(one, adapters())


def said(step: Step) -> dict[str, str]:
    return dict(word[2:].partition("=")[::2] for word in step.words if word.startswith("--"))


def test_the_engines_own_file_comes_before_what_counts_more() -> None:
    found = planned(flags={}, config={"tp-size": 4, "page-size": 64})
    words = found.steps[0].words
    at = words.index("--config")
    assert words[at + 1] == f"{ref('run')}/config/worker.yaml"
    assert not any(word.startswith("--tp-size") for word in words)
    assert [file.data for file in found.files if file.path == "config/worker.yaml"] == [{"tp-size": 4, "page-size": 64}]


def test_a_half_knows_its_part_and_only_prefill_has_a_bootstrap_port() -> None:
    found = planned("prefill", "decode", kv="nixl", replicas=2)
    halves = [said(step) for step in found.steps[:4]]
    assert [half["disaggregation-mode"] for half in halves] == ["prefill", "prefill", "decode", "decode"]
    assert [half.get("disaggregation-bootstrap-port") for half in halves] == ["7200", "7200", None, None]
    assert {half["disaggregation-transfer-backend"] for half in halves} == {"nixl"}
    assert all("skip-server-warmup" in half for half in halves)
    words = found.steps[4].words
    at = words.index("--prefill")
    # The router is told the port that the worker was told.
    assert words[at : at + 3] == ("--prefill", found.endpoints[0].url, "7200")


def test_two_prefill_workers_on_a_node_have_bootstrap_ports_of_their_own() -> None:
    found = planned("prefill", "decode", gpus=2, flags={"tp-size": 2}, replicas=2)
    ports = [said(step)["disaggregation-bootstrap-port"] for step in found.steps if step.role == "prefill"]
    assert ports == ["7200", "7201"]


def test_a_replica_over_nodes_is_one_endpoint() -> None:
    found = planned(gpus=8, flags={"tp-size": 8})
    steps = found.steps[:2]
    assert [said(step)["node-rank"] for step in steps] == ["0", "1"]
    assert {said(step)["dist-init-addr"] for step in steps} == {f"{ref('ip', 0)}:8300"}
    assert [shown(each.url) for each in found.endpoints] == ["http://{ip0}:6100"]
    assert [target.step for target in found.targets] == ["worker-0", "router"]
    assert steps[1].gates == () and steps[1].ports == {}


@pytest.mark.parametrize(
    ("flags", "gpus", "ranks"),
    [
        ({"tp-size": 4}, 4, 1),
        ({"tp-size": 2, "pp-size": 2}, 4, 1),
        # Copies of the model.
        ({"tp-size": 2, "dp-size": 2}, 4, 2),
        # Groups inside the tensor-parallel ranks, as they were said up to 0.5.16 and are from 0.5.23.
        ({"tp-size": 4, "dp-size": 4, "enable-dp-attention": True}, 4, 4),
        ({"tp-size": 4, "attn-dp-size": 2}, 4, 2),
    ],
)
def test_what_sizes_come_to(flags: dict[str, Any], gpus: int, ranks: int) -> None:
    found = planned(flags=flags, gpus=gpus)
    assert found.endpoints[0].ranks == ranks
    wrong = made(flags=flags, gpus=gpus // 2)
    assert "gpus-not-used" in {finding.code for finding in check(wrong, adapters())}


def test_attention_groups_have_ports_for_their_meeting() -> None:
    found = planned(gpus=2, replicas=2, flags={"tp-size": 2, "attn-dp-size": 2})
    assert [said(step)["dist-init-addr"].rpartition(":")[2] for step in found.steps[:2]] == ["8300", "8310"]


def test_ranks_meet_on_a_port_that_is_nobody_elses() -> None:
    found = planned("prefill", "decode", gpus=2, flags={"tp-size": 2})
    assert [said(step)["nccl-port"] for step in found.steps[:2]] == ["17500", "17501"]
    assert [step.ports["nccl"] for step in found.steps[:2]] == [17500, 17501]


def test_where_ranks_meet_is_bound_on_every_address_of_a_machine() -> None:
    """Also on those that are the nodes of another replica."""
    workers = role("worker", "sglang", gpus=1, replicas=2, flags={"tp-size": 1})
    found = plan(job(workers, router("smg"), on=cluster(nodes=2, node={"gpus": 1}), model={"path": "/m"}), adapters())
    assert [said(step)["nccl-port"] for step in found.steps[:2]] == ["17500", "17501"]


@pytest.mark.parametrize(
    ("flags", "gpus"),
    [
        pytest.param({"tp-size": 8}, 8, id="they meet at the address of the first node"),
        pytest.param({"tp-size": 4, "attn-dp-size": 2}, 4, id="they meet where groups do"),
        pytest.param({"tp-size": 2, "dp-size": 2}, 4, id="copies would all have it"),
    ],
)
def test_where_no_port_is_told_for_ranks_to_meet(flags: dict[str, Any], gpus: int) -> None:
    (first, *_) = planned(gpus=gpus, flags=flags).steps
    assert "nccl-port" not in said(first)
    assert "nccl" not in first.ports


def test_nobody_else_says_where_ranks_meet() -> None:
    found = check(made(flags={"tp-size": 4, "nccl-port": 23456}), adapters())
    assert [each.code for each in errors(found)] == ["owned-flag"]


@pytest.mark.parametrize(("version", "flag"), [("0.5.9", "grpc-mode"), ("0.5.16", "smg-grpc-mode")])
def test_grpc_by_its_name_in_the_version(version: str, flag: str) -> None:
    found = planned(catalogue=CATALOGUES[version], version=version, flags={"tp-size": 4, flag: True})
    assert shown(found.endpoints[0].url) == "grpc://{ip0}:6100"
    assert [gate.kind for gate in found.steps[0].gates] == ["tcp"]
    assert [target.role for target in found.targets] == ["router"]


def test_events_have_sglangs_own_fields() -> None:
    found = planned(kv_events=True)
    table = json.loads(said(found.steps[0])["kv-events-config"])
    assert {**table, "topic": shown(table["topic"])} == {
        "publisher": "zmq", "endpoint": "tcp://*:5550", "topic": "kv@{ip0}:6100@tiny",
    }  # fmt: skip


@pytest.mark.parametrize("version", sorted(CATALOGUES))
def test_every_version_has_the_words(version: str) -> None:
    catalogue = CATALOGUES[version]
    fields: dict[str, Any] = {"kv": "nixl", "kv_events": True}
    sizes = [{"gpus": size, "flags": {"tp-size": size}} for size in (4, 8)]
    made = [planned("prefill", "decode", catalogue=catalogue, version=version, **fields, **size) for size in sizes]
    for step in (step for each in made for step in each.steps[:-1]):
        flags = [word[2:].partition("=")[0] for word in step.words if word.startswith("--")]
        assert [flag for flag in flags if not catalogue.find(flag)] == []
