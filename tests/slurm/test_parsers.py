"""What Slurm's programs print, of several versions, read into values.

Recorded from Slurm 22.05.8 on the testbed, and from what users of other versions have posted: the place stands
beside each.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.execute.slurm import reading
from launcher.execute.slurm.reading import Job
from launcher.model.facts import Partition
from launcher.model.survey import Shape

DOWN = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"


@pytest.mark.parametrize(
    ("text", "job"),
    [
        ("12\n", "12"),
        ("12;testbed\n", "12"),
        ("sbatch: Your account is charged 3 hours\n4711\n", "4711"),
        ("", None),
        ("Submitted batch job 12\n", None),
        ("sbatch: error: Batch job submission failed: Invalid partition name specified\n", None),
    ],
)
def test_submitted(text: str, job: str | None) -> None:
    assert reading.submitted(text) == job


@pytest.mark.parametrize(
    ("text", "jobs"),
    [
        pytest.param(
            "2|PENDING|None|N/A|hello x\n",
            [Job("2", "PENDING", "", "", "hello x")],
            id="22.05.8, before it is looked at",
        ),
        pytest.param(
            "3|PENDING|Resources|2026-11-30T18:00:00|small-1\n2|RUNNING|None|2026-11-30T17:45:23|(null)\n",
            [
                Job("3", "PENDING", "Resources", "2026-11-30T18:00:00", "small-1"),
                Job("2", "RUNNING", "", "2026-11-30T17:45:23"),
            ],
            id="22.05.8",
        ),
        # 24.11.5, heterogeneous: ids as in github.com/meta-pytorch/torchx/issues/1101.
        pytest.param(
            "21+1|PENDING|None|N/A|run\n21+0|PENDING|None|N/A|run\n", [Job("21", "PENDING", "", "", "run")], id="het"
        ),
        # Ids of arrays as in github.com/giovtorres/slurmtools/issues/2.
        pytest.param("31180452_[0-467]|PENDING|Priority|N/A|\n", [], id="an array"),
        pytest.param(
            "9|PENDING|Nodes required for job are DOWN, DRAINED or reserved|N/A|a|b\n",
            [Job("9", "PENDING", "Nodes required for job are DOWN, DRAINED or reserved", "", "a|b")],
            id="a bar in the comment",
        ),
        pytest.param(
            "5+0|RUNNING|None|2026-11-30T21:00:59|x\n5+1|RUNNING|None|2026-11-30T21:00:59|x\n",
            [Job("5", "RUNNING", "", "2026-11-30T21:00:59", "x")],
            id="22.05.8, het",
        ),
        pytest.param(
            f"8|PENDING|{DOWN}|N/A|\n",
            [Job("8", "PENDING", DOWN)],
            id="22.05.8, nodes down",
        ),
        # Reasons with commas: github.com/aws/aws-parallelcluster-node/pull/178.
        pytest.param(
            "79|PENDING|ReqNodeNotAvail, May be reserved for other job|N/A|r\n",
            [Job("79", "PENDING", "ReqNodeNotAvail, May be reserved for other job", "", "r")],
            id="a reason with a comma",
        ),
        pytest.param("slurm_load_jobs error: Invalid job id specified\n", [], id="an error"),
    ],
)
def test_jobs(text: str, jobs: list[Job]) -> None:
    assert list(reading.jobs(text)) == jobs


SHOWN_22 = (
    "JobId=2 JobName=sbatch UserId=alice(20001) GroupId=alice(20001) MCS_label=N/A Priority=4294901758 Nice=0 "
    "Account=(null) QOS=(null) JobState=CANCELLED Reason=None Dependency=(null) Requeue=0 Restarts=0 BatchFlag=1 "
    "Reboot=0 ExitCode=0:9 RunTime=00:00:00 TimeLimit=UNLIMITED TimeMin=N/A SubmitTime=2026-11-30T17:31:32 "
    "EligibleTime=2026-11-30T17:31:32 AccrueTime=Unknown StartTime=2026-11-30T17:31:33 EndTime=2026-11-30T17:31:33 "
    "Deadline=N/A SuspendTime=None SecsPreSuspend=0 LastSchedEval=2026-11-30T17:31:32 Scheduler=Main Partition=batch "
    "NumNodes=2 NumCPUs=2 NumTasks=N/A CPUs/Task=1 ReqB:S:C:T=0:0:*:* TRES=cpu=2,mem=125G,node=2,billing=2 "
    "Socks/Node=* NtasksPerN:B:S:C=0:0:*:* Command=(null) WorkDir=/s Comment=hello x  StdErr=/s/job-2.out Power= \n"
)
# Its fields as github.com/ROCm/spur/pull/761 compares them with Slurm 25.11.6.
SHOWN_25 = (
    "JobId=71860 JobName=train.sh UserId=alice(20001) GroupId=alice(20001) MCS_label=N/A JobState=PENDING "
    "Reason=Resources Dependency=(null) Requeue=0 ExitCode=0:0 RunTime=00:00:00 TimeLimit=00:05:00 "
    "StartTime=2026-08-27T17:55:45 EndTime=2026-08-27T18:00:45 Deadline=N/A ReqNodeList=node07 NodeList=(null) "
    "SchedNodeList=node07 ReqTRES=cpu=1,node=1 AllocTRES=(null) SubmitLine=sbatch -w node07 --exclusive -t 5 train.sh\n"
)


HET_22 = (
    "JobId=5 HetJobId=5 HetJobOffset=0 JobName=wrap HetJobIdSet=5-6 UserId=alice(20001) GroupId=alice(20001) "
    "MCS_label=N/A Priority=4294901755 Nice=0 Account=(null) QOS=(null) JobState=RUNNING Reason=None Dependency=(null) "
    "Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0 RunTime=00:00:00 TimeLimit=UNLIMITED TimeMin=N/A "
    "SubmitTime=2026-11-30T21:00:58 StartTime=2026-11-30T21:00:59 EndTime=Unknown Deadline=N/A Scheduler=Backfill "
    "NodeList=node1 BatchHost=node1 NumNodes=1 NumCPUs=32 Command=(null) WorkDir=/s Comment=x  StdErr=/dev/null \n"
)
# Before 23.02 TRES has no Req and Alloc (github.com/NordicHPC/sonar/issues/441); of 24.x with GPUs as in
# github.com/neilmunday/slurm-mail/issues/142; a line of words with `=` in it is SubmitLine's, whatever they look like.
SHOWN_24 = (
    "JobId=12 JobName=a UserId=u(1) GroupId=u(1) MCS_label=N/A Priority=1 Nice=0 Account=a QOS=normal "
    "JobState=NODE_FAIL Reason=NodeDown FailedNode=n2 Dependency=(null) Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 "
    "ExitCode=0:15 RunTime=00:01:00 TimeLimit=1-00:00:00 StartTime=2026-01-01T00:00:00 EndTime=2026-01-01T00:01:00 "
    "ReqTRES=cpu=5,mem=90000M,node=1,billing=5,gres/gpu=1 AllocTRES=cpu=6,mem=90000M,node=1,billing=6,gres/gpu=1 "
    "SubmitLine=sbatch --comment=b JobState=RUNNING x.sh WorkDir=/s Comment=a-1 StdErr= StdIn=/dev/null StdOut= \n"
)


@pytest.mark.parametrize(
    ("text", "job"),
    [
        pytest.param(HET_22, Job("5", "RUNNING", "", "2026-11-30T21:00:59", "x"), id="22.05.8, het"),
        pytest.param(
            SHOWN_24, Job("12", "NODE_FAIL", "NodeDown", "2026-01-01T00:00:00", "a-1", 0, 15), id="24, with GPUs"
        ),
        pytest.param(SHOWN_22, Job("2", "CANCELLED", "", "2026-11-30T17:31:33", "hello x", 0, 9), id="22.05.8"),
        pytest.param(SHOWN_25, Job("71860", "PENDING", "Resources", "2026-08-27T17:55:45"), id="25.11.6"),
    ],
)
def test_shown(text: str, job: Job) -> None:
    assert list(reading.shown(text)) == [job]


def test_what_knows_no_job_shows_none() -> None:
    assert list(reading.shown("slurm_load_jobs error: Invalid job id specified\n")) == []


@pytest.mark.parametrize(
    ("text", "jobs"),
    [
        # As in github.com/martius-lab/cluster_utils/issues/87, with the columns asked for here.
        pytest.param(
            "239023|COMPLETED|0:0|None\n239023.batch|COMPLETED|0:0|\n239023.0|CANCELLED|0:10|\n",
            [Job("239023", "COMPLETED")],
            id="steps are left out",
        ),
        # The state has blanks: github.com/virtualcell/vcell/pull/1913 (23.11.10).
        pytest.param("7|CANCELLED by 54321|0:0|None\n", [Job("7", "CANCELLED")], id="23.11.10"),
        # The kills of a scheduler, likewise.
        pytest.param(
            "2699101|TIMEOUT|0:0|TimeLimit\n2699102|OUT_OF_MEMORY|0:125|None\n2699103|NODE_FAIL|1:0|NodeDown\n",
            [
                Job("2699101", "TIMEOUT", "TimeLimit"),
                Job("2699102", "OUT_OF_MEMORY", signal=125),
                Job("2699103", "NODE_FAIL", "NodeDown", exit=1),
            ],
            id="23.11.10, ended by Slurm",
        ),
        # A job whose nodes changed has several rows: github.com/olcf/olcf-test-harness/issues/254.
        pytest.param(
            "8|RESIZING|0:0|None\n8|TIMEOUT|0:0|TimeLimit\n",
            [Job("8", "RESIZING"), Job("8", "TIMEOUT", "TimeLimit")],
            id="resized",
        ),
        pytest.param(
            "21+0|FAILED|7:0|NonZeroExitCode\n21+1|FAILED|7:0|NonZeroExitCode\n",
            [Job("21", "FAILED", "NonZeroExitCode", exit=7)],
            id="het",
        ),
        pytest.param("Slurm accounting storage is disabled\n", [], id="22.05.8 without accounting"),
    ],
)
def test_accounted(text: str, jobs: list[Job]) -> None:
    assert list(reading.accounted(text)) == jobs


def test_partitions() -> None:
    text = (
        "batch*|up|infinite|4|gpu:8\nshort|up|1:00|4|gpu:8\n"
        # Of the same name where nodes differ; gres with socket and type as on GPU clusters.
        "gb300|up|1-00:00:00|18|gpu:gb300:4(S:0-1)\ngb300|up|1-00:00:00|2|(null)\n"
        "old|down|n/a|0|(null)\n"
    )
    assert list(reading.partitions(text).values()) == [
        Partition("batch", True, None, 4, "gpu:8", default=True),
        Partition("short", True, 60, 4, "gpu:8"),
        Partition("gb300", True, 86400, 20, "gpu:gb300:4(S:0-1)"),
        Partition("old", False, None, 0, ""),
    ]


@pytest.mark.parametrize(("partition", "found"), [(None, (2, 5)), ("batch", (2, 5)), ("gpu", (6, 9)), ("none", (0, 0))])
def test_nodes_that_are_down(partition: str | None, found: tuple[int, int]) -> None:
    text = (
        # 22.05.8; states with a mark behind (`down*` does not respond, `idle~` is powered down to save energy).
        "batch*|drained|1\nbatch*|down*|1\nbatch*|idle~|2\nbatch*|mixed|1\n"
        "gpu|draining|1\ngpu|maint|2\ngpu|fail|1\ngpu|unknown*|2\ngpu|allocated|1\ngpu|reserved|2\n?\n"
    )
    assert reading.lame(text, partition) == found


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("slurm-wlm 22.05.8\n", "22.05.8"),
        ("slurm 24.11.5\n", "24.11.5"),
        ("slurm 25.11.0-0rc1\n", "25.11.0"),
        ("?", ""),
    ],
)
def test_version(text: str, version: str) -> None:
    assert reading.version(text) == version


@pytest.mark.parametrize(
    ("text", "types"),
    [
        pytest.param(
            "MPI plugin types are...\n\tpmix\n\tnone\n\tcray_shasta\n\tpmi2\n"
            "specific pmix plugin versions available: pmix_v4\n",
            ("pmix", "none", "cray_shasta", "pmi2", "pmix_v4"),
            id="22.05.8",
        ),
        # github.com/openpmix/prrte/issues/1635
        pytest.param(
            "MPI plugin types are...\n\tcray_shasta\n\tnone\n\tpmi2\n", ("cray_shasta", "none", "pmi2"), id="no pmix"
        ),
        # github.com/pyiron/executorlib/pull/761 (Ubuntu 24.04's Slurm 23.11); the errors stand on standard error.
        pytest.param(
            "MPI plugin types are...\n\tnone\n\tpmix\n\tcray_shasta\n\tpmi2\n"
            "specific pmix plugin versions available: pmix_v5\n",
            ("none", "pmix", "cray_shasta", "pmi2", "pmix_v5"),
            id="23.11",
        ),
        # github.com/NVIDIA/deepops/pull/494
        pytest.param("srun: MPI types are...\nsrun: none\nsrun: pmix_v3\n", ("none", "pmix_v3"), id="20.02"),
    ],
)
def test_mpis(text: str, types: tuple[str, ...]) -> None:
    assert reading.mpis(text) == types


@given(st.integers(0, 300), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_limits_as_slurm_writes_them(days: int, hours: int, minutes: int, seconds: int) -> None:
    text = f"{minutes:02}:{seconds:02}"
    if days or hours:
        text = f"{hours:02}:{text}"
    if days:
        text = f"{days}-{text}"
    assert reading.limit_seconds(text) == ((days * 24 + hours) * 60 + minutes) * 60 + seconds


@given(st.text())
def test_nothing_that_is_printed_is_too_strange(text: str) -> None:
    for read in (reading.jobs, reading.shown, reading.accounted):
        list(read(text))
    reading.submitted(text)
    reading.partitions(text)
    reading.mpis(text)
    reading.version(text)
    reading.lame(text, None)
    list(reading.shapes(text))
    reading.settings(text)


def test_options() -> None:
    text = "  -c, --cpus-per-task=ncpus   number\n      --container             Path\n"
    text += "      --container-image=IMAGE  [pyxis] x\n      --no-container-mount-home\n"
    assert reading.options(text, "container-") == ("container-image",)
    assert reading.options(text, "") == ("cpus-per-task", "container", "container-image", "no-container-mount-home")


def test_shapes_and_settings() -> None:
    # 22.05.8, and gres as on GPU clusters; memory of nodes that differ has a plus without `--exact`.
    text = "batch*|2|32|64000|gpu:8\nshort|2|32|64000|(null)\ngb|18|144|800000|gpu:gb300:4(S:0-1)\nx|1|8|64000+|\n"
    assert list(reading.shapes(text)) == [
        Shape("batch", True, 2, 32, 64000, "gpu:8"),
        Shape("short", False, 2, 32, 64000, ""),
        Shape("gb", False, 18, 144, 800000, "gpu:gb300:4(S:0-1)"),
    ]
    config = (
        "Configuration data as of 2026-11-30T20:15:22\nKillWait                = 5 sec\nPowerPlugin             = \n"
        "SlurmctldHost[0]        = login(10.77.0.100)\nSLURM_VERSION           = 22.05.8\n\n"
        "MPI Plugins Configuration:\n"
        "PMIxTimeout             = 300\n\nSlurmctld(primary) at login is UP\n"
    )
    assert reading.settings(config) == {
        "KillWait": "5 sec",
        "PowerPlugin": "",
        "SlurmctldHost[0]": "login(10.77.0.100)",
        "SLURM_VERSION": "22.05.8",
        "PMIxTimeout": "300",
    }
