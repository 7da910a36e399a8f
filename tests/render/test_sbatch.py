from typing import Any

import pytest

from launcher.plan.step import Batch, Component, Plan
from launcher.render.sbatch import SCRIPT, submission
from launcher.run.script import Stop
from tests.render.plans import plan, site, step, words

JOB = [
    "sbatch",
    "--parsable",
    "--job-name=small",
    "--comment={id}",
    "--chdir={run}",
    "--output={run}/batch.log",
    "--open-mode=append",
    "--no-requeue",
    "--signal=B:TERM@65",
]
COMMAND = ["{run}/job.sh", "/opt/python3", "-I", "{run}/run.pyz", "{run}"]


def asked(on: Batch, made: Plan | None = None, **data: Any) -> list[str]:
    """The words between those of the job and the script."""
    made = made or plan(step(), on=on)
    found = words(submission(made, site(python="/opt/python3", **data)).argv)
    assert found[: len(JOB)] == JOB
    assert found[-len(COMMAND) :] == COMMAND
    return found[len(JOB) : -len(COMMAND)]


def one(**fields: Any) -> Component:
    return Component(**{"nodes": 2, **fields})


@pytest.mark.parametrize(
    ("batch", "data", "expected"),
    [
        (Batch((one(),)), {}, ["--nodes=2", "--exclusive", "--mem=0"]),
        (Batch((one(gpus=8),)), {}, ["--nodes=2", "--exclusive", "--mem=0", "--gpus-per-node=8"]),
        (
            Batch((one(gpus=8),)),
            {"node": {"gpus": 8, "gpu_request": "gres"}},
            ["--nodes=2", "--exclusive", "--mem=0", "--gres=gpu:8"],
        ),
        (
            Batch((one(gpus=2, cpus=32, memory=1000),), exclusive=False),
            {},
            ["--nodes=2", "--ntasks-per-node=1", "--cpus-per-task=32", "--mem=1000M", "--gpus-per-node=2"],
        ),
        (Batch((one(),), exclusive=False), {}, ["--nodes=2", "--ntasks-per-node=1"]),
        (Batch((one(),), sbatch=("--mem=5G",)), {}, ["--nodes=2", "--exclusive", "--mem=5G"]),
        (Batch((one(),), sbatch=("--mem-bind=x",)), {}, ["--nodes=2", "--exclusive", "--mem=0", "--mem-bind=x"]),
        (
            Batch((one(segment=2),), partition="p", account="a", qos="q", time=5400, sbatch=("--contiguous",)),
            {},
            [
                *("--nodes=2", "--exclusive", "--mem=0", "--segment=2"),
                *("--partition=p", "--account=a", "--qos=q", "--time=01:30:00", "--contiguous"),
            ],
        ),
        (
            Batch((one(segment=2), one(nodes=4, segment=4)), partition="p", sbatch=("--contiguous",)),
            {},
            [
                *("--nodes=2", "--exclusive", "--mem=0", "--segment=2", "--partition=p", "--contiguous", ":"),
                *("--nodes=4", "--exclusive", "--mem=0", "--segment=4", "--partition=p", "--contiguous"),
            ],
        ),
    ],
)
def test_what_slurm_is_asked_for(batch, data, expected):
    assert asked(batch, **data) == expected


def test_the_warning_leaves_time_for_the_slowest_step_and_the_janitor():
    made = plan(step(stop=Stop(seconds=60)))
    found = words(submission(made, site(slurm={"kill_wait": 5})).argv)
    assert "--signal=B:TERM@90" in found


def test_nothing_is_exported_and_nothing_is_quoted():
    found = submission(plan(step(env={"A": "secret-1"}, env_from=("TOKEN",))), site(inherit=["LANG"]))
    assert not [word for word in found.argv if word.startswith("--export") or "secret" in word or "TOKEN" in word]
    assert found.script == SCRIPT == """#!/bin/sh\ntrap '' TERM\nexec "$@"\n"""
    assert found.inherit == ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "SLURM_CONF", "LANG")


def test_a_plan_without_slurm_is_not_submitted():
    made = Plan(**{**vars(plan(step())), "batch": None})
    with pytest.raises(ValueError, match="no Slurm"):
        submission(made, site())
