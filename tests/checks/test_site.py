"""Audits of a cluster with Slurm; Slurm is a dictionary here."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from launcher.checks.audit import audit
from launcher.model.cluster import Cluster
from launcher.model.facts import Accounts, Answer, Mpis, Options, Partition, Partitions, Question
from launcher.plan.step import Batch, Component, Plan, Step
from tests.checks.test_audit import job

PARTITIONS = (
    Partition("batch", True, 3600, 4, "gpu:b200:8(S:0-1)", default=True),
    Partition("old", False, None, 4, "gpu:8"),
    Partition("cpu", True, None, 100, ""),
)
WORLD: Mapping[Question, Answer] = {
    Partitions(): Answer(yes=True, partitions=PARTITIONS),
    Options("container-"): Answer(yes=True, words=("container-image", "container-mount-home", "container-env")),
    Mpis(): Answer(yes=True, words=("none", "pmi2")),
    Accounts(): Answer(yes=True, words=("research",)),
}
STEP = Step("w", "worker", (0,), ("x",))


def found(
    batch: Batch,
    cluster: Mapping[str, Any] | None = None,
    step: Step = STEP,
    world: Mapping[Question, Answer] = WORLD,
    nodes: int = 2,
) -> dict[str, str]:
    """Code → message of what the audits say once all their questions are answered."""
    base = job()
    told = Cluster.model_validate({"schema": 1, "name": "c", **(cluster or {})})
    plan = Plan("r", "c", nodes, "http://x:8000", "m", (step,), (), (), (), (), 60.0, batch)
    facts: dict[Question, Answer] = {}
    yes = Answer(yes=True)
    for _ in range(3):
        findings, questions = audit(replace(base, cluster=told), plan, facts)
        facts.update({question: world.get(question, yes) for question in questions})
    assert not questions
    assert all(finding.exit == 5 or finding.code == "account-unknown" for finding in findings)
    return {finding.code: finding.message for finding in findings}


def asks(gpus: int = 8, **more: Any) -> Batch:
    return Batch((Component(2, gpus=gpus),), **more)


@pytest.mark.parametrize(
    ("batch", "code", "message"),
    [
        (asks(), None, ""),
        (asks(partition="batch", time=3600), None, ""),
        (asks(partition="batch,cpu"), None, ""),
        (asks(partition="bach"), "partition-unusable", "there is no partition `bach`"),
        (asks(partition="old"), "partition-unusable", "partition `old` is down"),
        (asks(time=7200), "time-over-limit", "partition `batch` allows 01:00:00, the job asks for 02:00:00"),
        (asks(gpus=16), "gpus-absent", "nodes of partition `batch` have 8 GPUs, the job asks for 16 of each"),
        (asks(partition="cpu"), "gpus-absent", "nodes of partition `cpu` have 0 GPUs, the job asks for 8 of each"),
        (asks(gpus=0, partition="cpu"), None, ""),
        (asks(account="reserch"), "account-unknown", "you have no account `reserch`"),
        (asks(account="Research"), None, ""),
    ],
)
def test_what_a_job_asks_for(batch: Batch, code: str | None, message: str) -> None:
    assert found(batch) == ({} if code is None else {code: message})


def test_more_nodes_than_there_are() -> None:
    said = found(asks(), nodes=9)
    assert said == {"partition-unusable": "partition `batch` has 4 nodes, the plan wants 9"}


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (None, None),
        ("0.16.0", None),
        ("0.20.0", "`srun` has no option `--container-entrypoint-log`, so pyxis is older than 0.20"),
    ],
)
def test_the_version_of_pyxis_is_told_by_its_options(version: str | None, message: str | None) -> None:
    cluster = {"runtime": "pyxis", "versions": {} if version is None else {"pyxis": version}}
    assert found(asks(), cluster) == ({} if message is None else {"pyxis-absent": message})


def test_without_pyxis_nothing_is_started() -> None:
    world = {**WORLD, Options("container-"): Answer(yes=False)}
    said = found(asks(), {"runtime": "pyxis"}, world=world)
    assert said == {"pyxis-absent": "`srun` has no option `--container-image`: pyxis is not set up here"}
    assert found(asks(), {"runtime": "apptainer"}, world=world) == {}


def test_a_type_of_mpi_is_asked_for_where_a_step_needs_one() -> None:
    ranks = replace(STEP, mpi=True, tasks=2)
    assert found(asks(), step=ranks) == {"mpi-unknown": "Slurm has no MPI of type `pmix`"}
    assert found(asks(), {"slurm": {"mpi": "pmi2"}}, step=ranks) == {}
    assert found(asks(), {"slurm": {"mpi": "none"}}) == {}


def test_a_slurm_that_does_not_answer_refuses_nothing() -> None:
    silent = dict.fromkeys(WORLD, Answer(yes=False))
    assert found(asks(partition="x", account="y", time=10**6), world=silent) == {}


def test_nothing_is_asked_of_slurm_for_a_run_of_this_machine() -> None:
    plan = Plan("r", "local", 1, "http://x:8000", "m", (STEP,), (), (), (), (), 60.0)
    questions = audit(job(), plan, {})[1]
    assert not [question for question in questions if isinstance(question, Partitions | Options | Mpis | Accounts)]
