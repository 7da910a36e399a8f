"""What TensorRT-LLM is started with: one MPI step, a file of its own, and nothing with a space."""

from typing import Any

import pytest

from launcher.checks import check
from launcher.model.catalogue import load
from launcher.plan.plan import plan
from launcher.plan.step import Plan
from launcher.run.script import ref
from launcher.text.diagnostic import errors
from tests.jobs import ROOT, adapters, job, role, router, site

FOLDER = ROOT / "manifests" / "flags" / "trtllm-serve"
CATALOGUES = {path.stem: load(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")}
NEWEST = CATALOGUES["1.4.0.dev029e223"]


def made(*names: str, kind: str = "smg", **fields: Any) -> Any:
    fields = {"gpus": 8, "config": {"tensor_parallel_size": 8}, "flags": {}, "catalogue": NEWEST, **fields}
    roles = [role(name, "trtllm", **fields) for name in names or ("worker",)]
    return job(*roles, router(kind), on=site("gb300"), model={"path": "/m", "served_name": "tiny"})


def planned(**fields: Any) -> Plan:
    one = made(**fields)
    assert not errors(check(one, adapters()))
    return plan(one, adapters())


def test_one_mpi_step_spans_the_nodes_with_a_rank_for_each_gpu() -> None:
    step = planned().steps[0]
    assert (step.nodes, step.tasks, step.mpi, step.gpus) == ((0, 1), 8, True, (0, 1, 2, 3))
    assert step.words[:3] == ("trtllm-llmapi-launch", "trtllm-serve", "/m")
    assert f"--config={ref('run')}/config/worker.yaml" in step.words
    assert f"--host={ref('ip', 0)}" in step.words


def test_the_file_is_the_roles_config_with_metrics_on() -> None:
    config = {"tensor_parallel_size": 8, "kv_cache_config": {"dtype": "fp8"}, "unset": ["cuda_graph_config"]}
    found = planned(config=config)
    file = next(file for file in found.files if file.path == "config/worker.yaml")
    assert file.data == {
        "return_perf_metrics": True,
        "tensor_parallel_size": 8,
        "kv_cache_config": {"dtype": "fp8"},
        "cuda_graph_config": None,
    }
    assert [target.path for target in found.targets] == ["/prometheus/metrics", "/metrics"]
    off = planned(config={"tensor_parallel_size": 8, "return_perf_metrics": False})
    assert [target.role for target in off.targets] == ["router"]


def test_an_image_without_the_newer_name_of_the_flag_is_told_the_older() -> None:
    text = (FOLDER / "1.3.0rc7.json").read_text(encoding="utf-8")
    older = load(text.replace('"--config": {"aliases": ["--extra_llm_api_options"]}', '"--extra_llm_api_options": {}'))
    words = planned(catalogue=older).steps[0].words
    assert f"--extra_llm_api_options={ref('run')}/config/worker.yaml" in words


@pytest.mark.parametrize("version", sorted(CATALOGUES))
def test_every_version_has_the_words(version: str) -> None:
    words = planned(catalogue=CATALOGUES[version], version=version).steps[0].words
    flags = [word[2:].partition("=")[0] for word in words if word.startswith("--")]
    assert [flag for flag in flags if not CATALOGUES[version].find(flag)] == []


def test_halves_are_refused() -> None:
    found = {finding.code for finding in errors(check(made("prefill", "decode"), adapters()))}
    assert found == {"handoff-lost"}


def test_grpc_is_refused_behind_the_router_and_without_one() -> None:
    """It hands out no tokenizer, and SMG would answer every request with an error."""
    flags = {"grpc": True}
    (finding,) = errors(check(made(flags=flags), adapters()))
    assert finding.code == "engine-not-routed"
    assert finding.help == "no router can: let the workers serve HTTP"
    alone = made(kind="direct", flags=flags)
    assert [finding.code for finding in errors(check(alone, adapters()))] == ["public-port-not-http"]
