"""The real Envoy, asked whether it takes a bootstrap."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from launcher.checks.bootstrap import envoy_lacks_cluster, envoy_refuses
from launcher.execute.adapters import load
from launcher.execute.envoy import bootstrap
from launcher.execute.library import Files
from launcher.execute.probe import answers
from launcher.model.facts import Answer, Bootstrap
from launcher.model.job import Job
from launcher.model.link import Request, link
from launcher.plan.plan import plan
from launcher.plan.step import Plan
from launcher.run.script import bind
from launcher.text.diagnostic import Severity
from tests.end.environments import environment

SLOTS = {"ip0": "127.0.0.1", "host0": "here", "run": "/run/1", "python": "python3"}


def linked(folder: Path, recipe: str, cluster: str) -> tuple[Job, Plan]:
    job = link(Files({}, site=folder, directory=folder), Request(recipe, cluster))
    return job, plan(job, load({role.manifest.adapter for role in job.roles}))


def made(folder: Path) -> tuple[Job, Plan]:
    own = folder / "site.toml"
    own.write_text(f'schema = 1\nname = "local"\n[images]\nllm-d = "{environment("llm-d")}"\n', encoding="utf-8")
    job, found = linked(folder, "sim-llm-d-pd", "./site.toml")
    return job, bind(found, SLOTS)


def broken(text: str, change: dict[str, Any]) -> str:
    return json.dumps({**json.loads(text), **change})


def test_it_takes_what_is_written_for_it(tmp_path: Path) -> None:
    job, found = made(tmp_path)
    (question,) = envoy_refuses(job, found, {})
    assert isinstance(question, Bootstrap)
    assert question.first == f"{environment('llm-d')}/bin"
    assert list(envoy_refuses(job, found, answers([question]))) == []


@pytest.mark.parametrize(
    ("change", "said"), [({"admni": {}}, "admni"), ({"static_resources": {"clusters": [{"name": ""}]}}, "Name")]
)
def test_it_says_what_is_wrong(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    job, found = made(tmp_path)
    (question,) = envoy_refuses(job, found, {})
    assert isinstance(question, Bootstrap)
    answer = bootstrap(Bootstrap(broken(question.text, change), question.program, question.first))
    assert not answer.yes
    assert said in answer.text
    (finding,) = envoy_refuses(job, found, {question: answer})
    assert not isinstance(finding, Bootstrap)
    assert (finding.code, finding.exit) == ("envoy-refuses", 4)


@pytest.mark.parametrize("recipe", ["llm-d-pd", "llm-d:ranks"])
def test_of_a_job_in_containers_the_envoy_of_this_machine_is_asked_too(tmp_path: Path, recipe: str) -> None:
    """Before the nodes are known; since the image may have another, what it says is a warning."""
    job, found = linked(tmp_path, recipe, "gb300")
    (question,) = envoy_refuses(job, found, {})
    assert isinstance(question, Bootstrap)
    assert (question.program, question.first) == ("envoy", None)
    here = replace(question, first=str(environment("llm-d") / "bin"))
    assert bootstrap(here).yes
    answer = bootstrap(replace(here, text=broken(question.text, {"admni": {}})))
    (finding,) = envoy_refuses(job, found, {question: answer})
    assert not isinstance(finding, Bootstrap)
    assert (finding.severity, finding.notes) == (Severity.WARNING, (f"asked {environment('llm-d') / 'bin' / 'envoy'}",))


@pytest.mark.parametrize("cluster", ["ext_proc", "admin", "workers"])
def test_a_cluster_that_is_not_there_is_found_where_envoy_finds_none(tmp_path: Path, cluster: str) -> None:
    job, found = made(tmp_path)
    assert list(envoy_lacks_cluster(job, found, {})) == []
    (question,) = envoy_refuses(job, found, {})
    assert isinstance(question, Bootstrap)
    resources = json.loads(question.text)["static_resources"]
    left = [each for each in resources["clusters"] if each["name"] != cluster]
    data = {**json.loads(question.text), "static_resources": {**resources, "clusters": left}}
    files = tuple(replace(file, data=data) if file.path == "llm-d/envoy.json" else file for file in found.files)
    (finding,) = envoy_lacks_cluster(job, replace(found, files=files), {})
    assert not isinstance(finding, Bootstrap)
    assert (finding.code, finding.exit) == ("envoy-lacks-cluster", 4)
    assert f"`{cluster}`" in finding.message
    # A route's cluster Envoy looks for itself; that of a filter it does not.
    assert bootstrap(Bootstrap(json.dumps(data), question.program, question.first)).yes is (cluster == "ext_proc")


def test_without_an_envoy_nothing_is_said() -> None:
    assert bootstrap(Bootstrap("{}", "no-such-envoy")) == Answer(yes=True)
