from typing import Any

import pytest

from launcher.plan.step import Step
from launcher.render.srun import env, srun
from launcher.run.script import shown


def step(nodes: tuple[int, ...] = (0,), **fields: Any) -> Step:
    return Step("worker-1", "worker", nodes, ("true",), **fields)


def words(made: Step) -> list[str]:
    return [shown(word) for word in srun(made)]


def test_one_task_on_one_node():
    assert words(step((2,))) == [
        "srun",
        "--jobid={job}",
        "--overlap",
        "--nodes=1",
        "--ntasks=1",
        "--nodelist={host2}",
        "--job-name=worker-1",
        "--kill-on-bad-exit=1",
        "--input=none",
        "--mpi=none",
        "--cpu-bind=none",
        "--unbuffered",
        "--output={run}/logs/worker-1.%t.out",
        "--error={run}/logs/worker-1.%t.err",
    ]


@pytest.mark.parametrize(
    ("nodes", "tasks", "expected"),
    [
        ((0, 1, 2), 1, ["--nodes=3", "--ntasks=3", "--ntasks-per-node=1", "--nodelist={host0},{host1},{host2}"]),
        ((0, 1), 8, ["--nodes=2", "--ntasks=8", "--ntasks-per-node=4", "--nodelist={host0},{host1}"]),
        ((3,), 4, ["--nodes=1", "--ntasks=4", "--ntasks-per-node=4", "--nodelist={host3}"]),
    ],
)
def test_several_tasks(nodes, tasks, expected):
    assert words(step(nodes, tasks=tasks))[3 : 3 + len(expected)] == expected


def test_every_option_is_one_word():
    assert all(word.startswith("--") for word in words(step())[1:])


def test_gpus_are_masked_by_an_inner_env():
    assert env(step(gpus=(1, 3))) == ("env", "CUDA_VISIBLE_DEVICES=1,3")
    assert env(step()) == ()
