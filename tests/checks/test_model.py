"""Audits of the model: sizes against what its `config.json` says, which here is a dictionary."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from launcher.checks.audit import audit
from launcher.model.catalogue import load
from launcher.model.cluster import Cluster
from launcher.model.facts import Answer, Model, Question
from launcher.model.job import Job
from launcher.model.recipe import Mount
from launcher.plan.plan import plan
from launcher.text.diagnostic import Diagnostic, Severity
from tests.jobs import ROOT, adapters, cluster, job, role, router, site

DENSE = {"num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 36, "model_type": "qwen3"}
EXPERTS = {**DENSE, "num_experts": 128}
DEEPSEEK = {"num_attention_heads": 128, "num_hidden_layers": 61, "n_routed_experts": 256, "kv_lora_rank": 512}
INSIDE = {"model_type": "vision", "text_config": EXPERTS, "vision_config": {"num_attention_heads": 3}}
EP = {"enable-expert-parallel": True}
EXTERNAL = {"data-parallel-external-lb": True}
NEWEST = {"vllm": "0.33.0", "sglang": "0.5.23", "trtllm": "1.3.0rc7"}
PROGRAMS = {"trtllm": "trtllm-serve"}


def made(engine: str, flags: Mapping[str, Any], version: str = "", on: Cluster | None = None, **fields: Any) -> Job:
    wanted = version or NEWEST[engine]
    file = ROOT / "manifests" / "flags" / PROGRAMS.get(engine, engine) / f"{wanted}.json"
    catalogue = load(file.read_text(encoding="utf-8"))
    kind = fields.pop("kind", "smg")
    worker = role("worker", engine, flags=flags, catalogue=catalogue, version=wanted, **fields)
    return job(worker, router(kind), on=on or cluster(node={"gpus": 8}), model={"path": "/m"})


def asked(work: Job, config: object, **answer: Any) -> tuple[list[Diagnostic], list[Model]]:
    """What the audits of the model find, and the questions they asked."""
    planned = plan(work, adapters())
    facts: dict[Question, Answer] = {}
    questions: list[Model] = []
    text = config if isinstance(config, str) else json.dumps(config)
    while True:
        findings, todo = audit(work, planned, facts)
        if not todo:
            codes = ("model-", "experts-", "heads-", "layers-")
            return [one for one in findings if one.code.startswith(codes)], questions
        questions += [each for each in todo if isinstance(each, Model)]
        told = Answer(**{"yes": True, "text": text, **answer})
        facts.update({each: told if isinstance(each, Model) else Answer(yes=True) for each in todo})


def tp(size: int, **more: Any) -> dict[str, Any]:
    return {"tensor-parallel-size": size, **more}


CASES: list[tuple[str, dict[str, Any], Any, set[str]]] = [
    ("vllm", tp(4), DENSE, set()),
    ("vllm", tp(4, **EP), DENSE, {"experts-absent"}),
    ("vllm", tp(4, **EP), EXPERTS, set()),
    ("vllm", tp(4, **EP), INSIDE, set()),
    # Nobody can tell: the name of its key is another.
    ("vllm", tp(4, **EP), {**DENSE, "moe_layers": 8}, set()),
    ("vllm", tp(4, **EP), {**DENSE, "architectures": ["NewMoeForCausalLM"]}, set()),
    ("vllm", tp(4, **EP, **{"hf-overrides": {"num_experts": 8}}), DENSE, set()),
    ("vllm", tp(2, **EXTERNAL, **{"data-parallel-size": 2}), DENSE, {"experts-absent"}),
    ("vllm", tp(2, **EXTERNAL, **{"data-parallel-size": 2}), EXPERTS, set()),
    ("vllm", tp(2, **{"data-parallel-size": 2}), DENSE, set()),
    ("vllm", tp(3), DENSE, {"heads-not-shared"}),
    ("vllm", tp(3), INSIDE, {"heads-not-shared"}),
    ("vllm", tp(16, **{"decode-context-parallel-size": 2}), DENSE, set()),
    ("vllm", tp(8, **{"decode-context-parallel-size": 2}), DENSE, {"heads-not-shared"}),
    ("vllm", tp(16, **{"decode-context-parallel-size": 4}), DENSE, {"heads-not-shared"}),
    ("vllm", tp(8, **{"decode-context-parallel-size": 8}), DEEPSEEK, set()),
    ("vllm", {"pipeline-parallel-size": 5}, DENSE, set()),
    ("vllm", {"pipeline-parallel-size": 5}, {**DENSE, "num_hidden_layers": 4}, {"layers-too-few"}),
    ("vllm", tp(1, **EP, **{"data-parallel-size": 6}), EXPERTS, {"experts-not-shared"}),
    ("vllm", tp(8, **EP, **{"enable-eplb": True}), DEEPSEEK, set()),
    ("vllm", tp(8, **EP, **{"enable-eplb": True, "eplb-config": {"num_redundant_experts": 4}}), EXPERTS,
     {"experts-not-shared"}),
    ("vllm", tp(8, **EP), {**DENSE, "num_local_experts": 4}, {"experts-not-shared"}),
    ("vllm", tp(3), "{ no json", set()),
    ("vllm", tp(3), "[]", set()),
    ("vllm", tp(3), "", set()),
    ("sglang", {"tp-size": 3}, DENSE, {"heads-not-shared"}),
    ("sglang", {"tp-size": 6, "attn-dp-size": 3}, DENSE, set()),
    ("sglang", {"tp-size": 8, "ep-size": 8}, EXPERTS, set()),
    ("sglang", {"tp-size": 4, "ep-size": 4}, {**DENSE, "num_experts": 6}, {"experts-not-shared"}),
    ("sglang", {"tp-size": 4, "ep-size": 4, "ep-num-redundant-experts": 2}, {**DENSE, "num_experts": 6}, set()),
    ("sglang", {"pp-size": 3}, {**DENSE, "num_hidden_layers": 2}, {"layers-too-few"}),
    ("trtllm", {"tp_size": 3}, DENSE, {"heads-not-shared"}),
]  # fmt: skip


@pytest.mark.parametrize(("engine", "flags", "config", "wanted"), CASES)
def test_sizes_go_with_the_model_or_are_refused(
    engine: str, flags: dict[str, Any], config: Any, wanted: set[str]
) -> None:
    found, _ = asked(made(engine, flags), config)
    assert {one.code for one in found} == wanted
    assert all(one.help and one.place and one.labels for one in found)


def test_what_is_in_trtllms_file_counts() -> None:
    config = {"tensor_parallel_size": 6, "moe_expert_parallel_size": 6, "pipeline_parallel_size": 40}
    found, _ = asked(made("trtllm", {}, config=config), EXPERTS)
    assert {one.code for one in found} == {"heads-not-shared", "experts-not-shared", "layers-too-few"}
    own = {"tensor_parallel_size": 6, "enable_attention_dp": True}
    assert asked(made("trtllm", {}, config=own), EXPERTS)[0] == []


@pytest.mark.parametrize(("kind", "wanted"), [("vllm-router", {"experts-absent"}), ("smg", set())])
def test_ranks_behind_an_api_on_each_node_want_experts(kind: str, wanted: set[str]) -> None:
    work = made("vllm", {"data-parallel-size": 16}, gpus=16, kind=kind)
    assert {one.code for one in asked(work, DENSE)[0]} == wanted


def test_older_versions_are_doubted() -> None:
    flags = tp(2, **EXTERNAL, **{"data-parallel-size": 2})
    (one,), _ = asked(made("vllm", flags, "0.20.2"), DENSE)
    assert (one.code, one.severity) == ("experts-absent", Severity.WARNING)


def test_the_folder_is_asked_for_where_it_lies() -> None:
    data = {"/m": {"path": "/raid/m", "where": "compute"}}
    there = site("gb300").model_copy(update={"models": Cluster.model_validate(
        {"schema": 1, "name": "x", "models": data}).models})  # fmt: skip
    mounts = (Mount(source="/host", target="/m"), Mount(source="/other", target="/"))
    questions = {
        "here": asked(made("vllm", tp(4), gpus=4), DENSE)[1],
        "login": asked(made("vllm", tp(4), gpus=4, on=site("gb300")), DENSE)[1],
        "mounted": asked(made("vllm", tp(4), gpus=4, on=site("gb300"), mounts=mounts), DENSE)[1],
        "compute": asked(made("vllm", tp(4), gpus=4, on=there), DENSE)[1],
    }
    batch = ("--partition=batch", "--account=team")
    assert questions == {
        "here": [Model("/m")],
        "login": [Model("/m")],
        "mounted": [Model("/host")],
        "compute": [Model("/raid/m", batch)],
    }


@pytest.mark.parametrize("on", ["local", "login", "compute"])
def test_a_model_that_is_nowhere(on: str) -> None:
    """What a login node does not see, compute nodes may have."""
    data = {"/m": {"path": "/m", "where": "compute"}} if on == "compute" else {}
    base = site("gb300") if on != "local" else cluster(node={"gpus": 4})
    models = Cluster.model_validate({"schema": 1, "name": "x", "models": data}).models
    work = made("vllm", tp(4), gpus=4, on=base.model_copy(update={"models": models}))
    found, _ = asked(work, "", yes=False, text="does not exist")
    assert [one.message for one in found] == ([] if on == "login" else ["`/m` does not exist"])


def test_nothing_is_asked_of_what_is_rehearsed_or_no_engine() -> None:
    assert asked(replace(made("vllm", tp(3)), rehearsed=True), DENSE) == ([], [])
    work = job(role("worker", "sim"), router(), model={"path": "/m"})
    assert asked(work, DENSE) == ([], [])
