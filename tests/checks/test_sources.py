"""Audits of mounts: who is asked for their sources, and what is said of those that are not there."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from launcher.checks.audit import audit
from launcher.model.facts import Answer, Present, Question
from launcher.model.recipe import Mount
from launcher.plan.plan import plan
from launcher.text.diagnostic import Severity
from tests.jobs import adapters, cluster, job, role, router

PYXIS = {"runtime": "pyxis", "scheduler": "slurm", "node": {"gpus": 8}, "images": {"sim": "/i.sqsh", "smg": "/i.sqsh"}}
LOST = "exists neither here nor on the compute nodes"


def asked(
    runtime: str,
    here: bool,
    there: bool,
    *sources: str,
    model: Mapping[str, str] | None = None,
    rehearsed: bool = False,
) -> tuple[list[str], list[Present]]:
    """What is said of mounts with these sources and of that of the model, and the questions, by what is where."""
    mounts = tuple(Mount(source=source, target=f"/m{number}") for number, source in enumerate(sources))
    local = {"runtime": "none", "scheduler": "local", "node": {"gpus": 8}}
    on = cluster(
        **(local if runtime == "local" else {**PYXIS, "runtime": runtime}), models={"m": model} if model else {}
    )
    work = job(role("worker", gpus=8, mounts=mounts), router("smg"), on=on, model={"path": "m"} if model else {})
    work = replace(work, rehearsed=rehearsed)
    made, facts, questions = plan(work, adapters()), dict[Question, Answer](), list[Present]()
    while True:
        findings, todo = audit(work, made, facts)
        if not todo:
            told = [each for each in findings if each.code == "mount-absent"]
            assert {each.severity for each in told} <= {Severity.ERROR}
            return [each.message for each in told], questions
        for each in todo:
            facts[each] = Answer(yes=True)
            if isinstance(each, Present):
                questions.append(each)
                facts[each] = Answer(yes=here if each.compute is None else there, text=LOST)


@pytest.mark.parametrize("runtime", ["pyxis", "apptainer"])
def test_what_is_seen_here_is_there(runtime: str) -> None:
    assert asked(runtime, True, False, "/data", "/more") == ([], [Present("/data"), Present("/more")])


@pytest.mark.parametrize("runtime", ["pyxis", "apptainer"])
def test_what_only_nodes_see_is_asked_there(runtime: str) -> None:
    assert asked(runtime, False, True, "/data") == ([], [Present("/data"), Present("/data", ())])


def test_what_is_nowhere_is_refused_once() -> None:
    said, questions = asked("pyxis", False, False, "/data", "/data")
    assert said == [f"the source `/data` {LOST}"]
    assert len(questions) == 2


@pytest.mark.parametrize(
    ("where", "rehearsed", "told"), [("here", False, 1), ("here", True, 1), ("compute", True, 1), ("compute", False, 0)]
)
def test_the_folder_of_the_model_is_asked_for(where: str, rehearsed: bool, told: int) -> None:
    """Where only nodes see it, and it is read, `model-absent` asks."""
    said, _ = asked("pyxis", False, False, model={"path": "/models/m", "where": where}, rehearsed=rehearsed)
    assert said == [f"the source `/models/m` {LOST}"] * told


@pytest.mark.parametrize(("runtime", "source"), [("local", "/data"), ("none", "/data"), ("pyxis", "tmpfs")])
def test_what_is_not_mounted_is_not_asked_for(runtime: str, source: str) -> None:
    assert asked(runtime, False, False, source) == ([], [])
