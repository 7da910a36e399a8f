"""Why Slurm ends a run, from what `squeue` says; the job from its environment."""

import os
import pwd

import pytest

from launcher.run import job
from launcher.run.script import ref


@pytest.mark.parametrize(
    ("answer", "warning", "expected"),
    [
        pytest.param("RUNNING|UNLIMITED|None\n", 30.0, None, id="nobody but us"),
        pytest.param("RUNNING|1-00:00:00|None\n", 30.0, None, id="time is left"),
        pytest.param(
            "RUNNING|1:40|None\n", 30.0, ("timeout", "the time limit of job 7 was reached"), id="warned early"
        ),
        pytest.param(
            "RUNNING|0:00|None\n", 30.0, ("timeout", "the time limit of job 7 was reached"), id="no time left"
        ),
        pytest.param("RUNNING|0:10|None\n", None, None, id="a step ended by itself just then"),
        pytest.param("TIMEOUT|0:00|TimeLimit\n", None, ("timeout", "the time limit of job 7 was reached"), id="over"),
        pytest.param("COMPLETING|4:00|None\n", 30.0, ("cancelled", "job 7 was cancelled"), id="scancel"),
        pytest.param("CANCELLED|0:00|None\n", None, ("cancelled", "job 7 was cancelled"), id="scancel, later"),
        pytest.param("PREEMPTED|0:00|None\n", None, ("cancelled", "job 7 was preempted"), id="preempted"),
        pytest.param("NODE_FAIL|0:00|None\n", None, ("failed", "a node of job 7 failed (NODE_FAIL)"), id="node"),
        pytest.param(
            "COMPLETING|9:00|NodeDown\n", 1.0, ("failed", "a node of job 7 failed (NODE_FAIL)"), id="node down"
        ),
        pytest.param(
            "RUNNING|9:00|None\nCANCELLED|9:00|None\n", None, ("cancelled", "job 7 was cancelled"), id="a part"
        ),
        pytest.param("", 30.0, None, id="Slurm does not answer"),
        pytest.param("slurm_load_jobs error: Invalid job id specified\n", 30.0, None, id="an error"),
    ],
)
def test_why(answer: str, warning: float | None, expected: tuple[str, str] | None) -> None:
    found = job.why("7", answer, warning)
    assert (None if found is None else (found.state, found.cause)) == expected
    assert found is None or found.exit == 7


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0:10", 10.0),
        ("1:40", 100.0),
        ("2:00:00", 7200.0),
        ("1-00:00:01", 86401.0),
        ("UNLIMITED", None),
        ("INVALID", None),
    ],
)
def test_seconds(text: str, seconds: float | None) -> None:
    assert job.seconds(text) == seconds


PLAIN = {b"SLURM_JOB_ID": b"7", b"SLURM_JOB_NODELIST": b"node[1-2]", b"PATH": b"/bin", b"USER": b"a", b"HOME": b"/h"}
HET = {
    **PLAIN,
    b"SLURM_HET_SIZE": b"2",
    b"SLURM_JOB_ID_HET_GROUP_0": b"7",
    b"SLURM_JOB_ID_HET_GROUP_1": b"8",
    b"SLURM_JOB_NODELIST_HET_GROUP_0": b"node1",
    b"SLURM_JOB_NODELIST_HET_GROUP_1": b"node[2-3]",
}


@pytest.mark.parametrize(
    ("environ", "jobs", "lists"), [(PLAIN, "7", ["node[1-2]"]), (HET, "7,8", ["node1", "node[2-3]"])]
)
def test_slots(environ: dict[bytes, bytes], jobs: str, lists: list[str]) -> None:
    assert job.slots(environ) == {"job": "7", "jobs": jobs, "path": "/bin", "user": "a", "home": "/h"}
    assert job.nodelists(environ) == lists


@pytest.mark.parametrize("nameless", [{}, {b"USER": b"", b"HOME": b""}], ids=["unset", "empty"])
def test_an_environment_without_a_user_has_the_account(nameless: dict[bytes, bytes]) -> None:
    somebody = pwd.getpwuid(os.geteuid())
    bare = {name: value for name, value in PLAIN.items() if name not in {b"USER", b"HOME"}}
    found = job.slots({**bare, **nameless})
    assert (found["user"], found["home"]) == (somebody.pw_name, somebody.pw_dir)


def test_outside_a_job_there_are_none() -> None:
    with pytest.raises(ValueError, match="SLURM_JOB_ID"):
        job.slots({})


def test_unknown_references_stay() -> None:
    assert job.bind_known((ref("job"), {"a": ref("ip", 0)}), {"job": "7"}) == ("7", {"a": ref("ip", 0)})


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("RUNNING|59:30|None\n", 3570.0),
        # Of a heterogeneous job, the component that ends first.
        ("RUNNING|1-00:00:00|None\nRUNNING|2:05|None\n", 125.0),
        ("RUNNING|UNLIMITED|None\n", None),
        ("RUNNING|INVALID|None\n", None),
        ("slurm_load_jobs error: Invalid job id specified\n", None),
        ("", None),
    ],
)
def test_left(answer: str, left: float | None) -> None:
    assert job.left(answer) == left
