"""Audits of mounts: who is asked for their sources, and what is said of those that are not there."""

import pytest

from launcher.checks.audit import audit
from launcher.model.facts import Answer, Present, Question
from launcher.model.recipe import Mount
from launcher.plan.plan import plan
from launcher.text.diagnostic import Severity
from tests.jobs import adapters, cluster, job, role, router

PYXIS = {"runtime": "pyxis", "scheduler": "slurm", "node": {"gpus": 8}, "images": {"sim": "/i.sqsh", "smg": "/i.sqsh"}}
LOST = "exists neither here nor on the compute nodes"


def asked(runtime: str, here: bool, there: bool, *sources: str) -> tuple[list[str], list[Present]]:
    """What is said of mounts with these sources, and the questions, by what is where."""
    mounts = tuple(Mount(source=source, target=f"/m{number}") for number, source in enumerate(sources))
    local = {"runtime": "none", "scheduler": "local", "node": {"gpus": 8}}
    on = cluster(**(local if runtime == "local" else {**PYXIS, "runtime": runtime}))
    work = job(role("worker", gpus=8, mounts=mounts), router("smg"), on=on)
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


@pytest.mark.parametrize(("runtime", "source"), [("local", "/data"), ("none", "/data"), ("pyxis", "tmpfs")])
def test_what_is_not_mounted_is_not_asked_for(runtime: str, source: str) -> None:
    assert asked(runtime, False, False, source) == ([], [])
