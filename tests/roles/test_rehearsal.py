"""`--simulate`: the plan stays as it is, but for the words that start an engine."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from launcher.checks import check
from launcher.checks.audit import audit, here
from launcher.execute.library import Files
from launcher.model.catalogue import load
from launcher.model.cluster import Cluster
from launcher.model.facts import Answer, Module
from launcher.model.job import Job
from launcher.model.link import Request, link
from launcher.plan.plan import plan
from launcher.plan.step import Plan
from launcher.roles.rehearsal import MODULES, rehearsed
from launcher.run.script import ref
from launcher.text.diagnostic import Severity, errors
from tests.jobs import ROOT, adapters, cluster, job, manifest, role, router, shipped, site

VLLM = load((ROOT / "manifests" / "flags" / "vllm" / "0.33.0.json").read_text(encoding="utf-8"))


def made(**fields: Any) -> Job:
    on = fields.pop("on", site("gb300"))
    flags = {"tensor-parallel-size": 4}
    worker = role("worker", "vllm", **{"gpus": 4, "flags": flags, "catalogue": VLLM, **fields})
    return job(worker, router(), on=on, model={"path": "/m"})


def plans(original: Job) -> tuple[Plan, Plan]:
    swapped, own = rehearsed(original, adapters())
    return plan(original, adapters()), plan(swapped, own)


def test_only_the_engines_program_changes() -> None:
    before, after = plans(made())
    assert after.steps[1] == before.steps[1]
    kept = replace(after.steps[0], words=before.steps[0].words, image=None, reference=before.steps[0].reference)
    assert kept == replace(before.steps[0], image=None)
    assert (after.endpoints, after.targets, after.ready) == (before.endpoints, before.targets, before.ready)
    words = after.steps[0].words
    run = ref("run")
    assert words[:5] == (ref("python"), f"{run}/sim.pyz", "--as", "vllm", f"--catalogue={run}/sim/vllm-0.33.0.json")
    assert words[words.index("--") + 1 :] == before.steps[0].words
    assert {file.path for file in after.files} - {file.path for file in before.files} == {"sim/vllm-0.33.0.json"}


def test_the_catalogue_that_is_read_is_the_one_that_was_checked() -> None:
    file = next(file for file in plans(made())[1].files if file.path.startswith("sim/"))
    assert load(file.text or "") == VLLM


def test_it_runs_in_an_image_of_its_own_where_the_cluster_has_one() -> None:
    assert plans(made())[1].steps[0].image == "sim"
    other = site("gb300").model_copy(update={"images": {}})
    assert plans(made(on=other, image="eng", reference="a.io/b:1"))[1].steps[0].reference == "a.io/b:1"


def test_this_machine_takes_part_as_if_it_had_gpus() -> None:
    here = made(on=cluster(nodes=1), gpus=16, flags={"data-parallel-size": 16})
    swapped, own = rehearsed(here, adapters())
    assert not errors(check(swapped, own))
    assert [step.nodes for step in plan(swapped, own).steps] == [(0,), (1,), (0,)]
    own_shape = made(on=cluster(node={"gpus": 2}), gpus=2, flags={"data-parallel-size": 2})
    assert rehearsed(own_shape, adapters())[0].cluster.node.gpus == 2


@pytest.mark.parametrize(
    ("on", "idle"), [(cluster(), []), (site("x86-apptainer"), ["gpus-idle"])], ids=["here", "cluster"]
)
def test_no_gpu_that_was_made_up_is_idle(on: Cluster, idle: list[str]) -> None:
    found = check(*rehearsed(made(on=on), adapters()))
    assert [finding.code for finding in found if finding.code == "gpus-idle"] == idle


def test_the_simulated_engine_itself_is_left_alone() -> None:
    plain = job(role("worker", replicas=2), router())
    before, after = plans(plain)
    assert before == after


@pytest.mark.parametrize(
    "fields", [{"catalogue": None}, {"uses": manifest("eng", kind="engine", ports={"http": {"base": 1}})}]
)
def test_an_engine_nobody_knows_is_refused(fields: dict[str, Any]) -> None:
    worker = role("worker", **{"uses": "vllm", "gpus": 1, "catalogue": VLLM, **fields})
    swapped, own = rehearsed(job(worker, on=cluster(), model={"path": "/m"}), adapters())
    assert "not-simulated" in {finding.code for finding in check(swapped, own)}


def test_grpc_and_kv_events_stay_what_they_are() -> None:
    before, after = plans(made(flags={"tensor-parallel-size": 4, "grpc": True}, kv_events=True))
    assert (after.endpoints[0].scheme, after.steps[0].gates[0].kind) == ("grpc", "tcp")
    assert after.steps[0].words[-len(before.steps[0].words) :] == before.steps[0].words
    assert "--grpc" in after.steps[0].words
    assert not errors(check(*rehearsed(made(flags={"tensor-parallel-size": 4, "grpc": True}), adapters())))


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, set()),
        ({"flags": {"tensor-parallel-size": 4, "grpc": True}}, {"smg_grpc_proto", "grpc_health"}),
        ({"kv_events": True}, {"zmq", "msgspec"}),
        ({"flags": {"tensor-parallel-size": 4, "kv-events-config": {"publisher": "zmq"}}}, {"zmq", "msgspec"}),
    ],
)
def test_what_the_interpreter_must_have_is_asked_before_anything_starts(
    fields: dict[str, Any], wanted: set[str]
) -> None:
    swapped, own = rehearsed(made(on=cluster(), **fields), adapters())
    _, questions = audit(swapped, here(plan(swapped, own), {"python": "/p", "run": "/r", "ip0": "127.0.0.1"}), {})
    assert {asked.name for asked in questions if isinstance(asked, Module) and asked.distribution} == wanted
    lacking = Module("/p", "zmq", "pyzmq")
    if "zmq" in wanted:
        found, _ = audit(
            swapped,
            here(plan(swapped, own), {"python": "/p", "run": "/r", "ip0": "127.0.0.1"}),
            {lacking: Answer(yes=False, text="no")},
        )
        assert [each.help for each in found if each.code == "program-absent"] == ["`/p -m pip install pyzmq`"]


def test_the_manifest_of_the_simulated_engine_says_the_same() -> None:
    own = shipped("sim").program.modules
    assert own == {name: MODULES[name] for name in own}


TRTLLM = load((ROOT / "manifests" / "flags" / "trtllm-serve" / "1.3.0rc7.json").read_text(encoding="utf-8"))


def test_grpc_of_tensorrt_llm_is_refused() -> None:
    served = role("worker", "trtllm", gpus=4, catalogue=TRTLLM, flags={"tensor_parallel_size": 4, "grpc": True})
    swapped, own = rehearsed(job(served, router(), on=site("gb300"), model={"path": "/m"}), adapters())
    assert "not-simulated" in {finding.code for finding in errors(check(swapped, own))}


def test_a_connector_without_a_stand_in_is_a_warning() -> None:
    flags = {"tp": 4, "kv-transfer-config": {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}}
    halves = [role(name, "vllm", gpus=4, catalogue=VLLM, flags=flags) for name in ("prefill", "decode")]
    swapped, own = rehearsed(job(*halves, router("vllm-router"), on=site("gb300"), model={"path": "/m"}), adapters())
    found = [finding for finding in check(swapped, own) if finding.code == "not-simulated"]
    assert [finding.severity for finding in found] == [Severity.WARNING] * 2
    assert "hands over by LMCacheConnectorV1" in found[0].message


HOLDS = """
schema = 1
name = "holds"
model.path = "/m"
router.kind = "smg"
[roles.worker]
manifest = "vllm"
gpus = 4
"""
OFFLOADING = 'kv_connector = "OffloadingConnector", kv_role = "kv_both"'


@pytest.mark.parametrize(("table", "key"), [("flags", "kv-transfer-config"), ("config", "kv_transfer_config")])
def test_a_connector_that_hands_nothing_over_is_named_as_such(tmp_path: Path, table: str, key: str) -> None:
    """The place is the flag's, wherever it is said; nobody decodes apart from who prefills."""
    (tmp_path / "own.toml").write_text(f"{HOLDS}{table} = {{ tp = 4, {key} = {{ {OFFLOADING} }} }}", encoding="utf-8")
    linked = link(Files({}, site=tmp_path, directory=tmp_path), Request("./own.toml", "gb300"))
    (found,) = [one for one in check(*rehearsed(linked, adapters())) if one.code == "not-simulated"]
    assert found.message == "`worker` has OffloadingConnector, for which nothing stands in"
    assert found.help == "the rehearsal starts; its workers then keep nothing of a KV cache elsewhere"
    assert found.place is not None
    assert found.place.path == ("roles", "worker", table, key)
