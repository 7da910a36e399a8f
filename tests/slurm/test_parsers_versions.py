"""One job in the words of every Slurm from 22.05 to 25.11.

Not recorded but put together as Slurm's source does it, at the heads of its branches slurm-22.05 to slurm-25.11:
`slurm_sprint_job_info` of src/api/job_info.c, from 24.11 on `_sprint_job_info` of src/scontrol/info_job.c. What else is
read did not change between them: the functions of src/squeue/print.c behind %i %T %r %S %k %L %j, those of
src/sinfo/print.c behind %P %a %l %D %G %c %m %T, the states of sacct (`CANCELLED by 1000`), what `sbatch --parsable`
and `srun --mpi=list` (src/common/plugrack.c) print. Between them only C names of structures and functions differ.
"""

import pytest

from launcher.execute.slurm import reading
from launcher.execute.slurm.reading import Job

VERSIONS = ("22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11")

# What is printed, in its order; behind it the version that began and the one that ended it.
FIELDS: tuple[tuple[str, str, str], ...] = (
    ("JobId=7 JobName=small", "", ""),
    ("SLUID=s2Y7ZCQ4A1W000", "25.11", ""),
    ("UserId=alice(20001) GroupId=alice(20001) MCS_label=N/A", "", ""),
    ("Priority=4294901758 Nice=0 Account=lab QOS=normal WCKey=*", "", ""),
    ("JobState=NODE_FAIL Reason=NodeDown", "", ""),
    ("FailedNode=n2", "23.02", ""),
    ("Dependency=(null)", "", ""),
    ("Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=1:0 DerivedExitCode=0:9", "", ""),
    ("RunTime=00:10:00 TimeLimit=01:00:00 TimeMin=N/A", "", ""),
    ("SubmitTime=2026-01-01T00:00:00 EligibleTime=2026-01-01T00:00:00 AccrueTime=2026-01-01T00:00:00", "", ""),
    ("StartTime=2026-01-01T00:00:05 EndTime=2026-01-01T00:10:05 Deadline=N/A", "", ""),
    ("PreemptEligibleTime=2026-01-01T00:00:05 PreemptTime=None", "", ""),
    ("SuspendTime=None SecsPreSuspend=0 LastSchedEval=2026-01-01T00:00:05 Scheduler=Backfill", "", ""),
    ("Partition=batch AllocNode:Sid=login:4711 ReqNodeList=(null) ExcNodeList=(null)", "", ""),
    ("NodeList=n[1-2] BatchHost=n1", "", ""),
    ("StepMgrEnabled=Yes", "24.05", ""),
    ("NumNodes=2 NumCPUs=64 NumTasks=2 CPUs/Task=32 ReqB:S:C:T=0:0:*:*", "", ""),
    ("TRES=cpu=64,mem=125G,node=2,billing=64,gres/gpu=16", "", "22.05"),
    ("ReqTRES=cpu=64,mem=125G,node=2,billing=64 AllocTRES=cpu=64,mem=125G,node=2,gres/gpu=16", "23.02", ""),
    ("Socks/Node=* NtasksPerN:B:S:C=1:0:*:* CoreSpec=*", "", ""),
    ("MinCPUsNode=32 MinMemoryNode=0 MinTmpDiskNode=0 Features=(null) DelayBoot=00:00:00", "", ""),
    ("OverSubscribe=NO Contiguous=0 Licenses=(null)", "", ""),
    ("LicensesAlloc=(null)", "25.05", ""),
    ("Network=(null) Command=/r/job.sh", "", ""),
    # A user's own words: they say nothing of the job.
    ("SubmitLine=sbatch --comment=x --wrap=JobState=RUNNING Reason=None ExitCode=0:0", "25.11", ""),
    ("WorkDir=/r AdminComment=of the site  SystemComment=of Slurm  Comment=small-1 ", "", "25.05"),
    ("WorkDir=/r AdminComment=of the site SystemComment=of Slurm Comment=small-1", "25.11", ""),
    ("Extra=e ", "23.02", ""),
    ("StdErr=/r/batch.log StdIn=/dev/null StdOut=/r/batch.log", "", ""),
    ("SegmentSize=2", "25.05", ""),
    ("Power=", "", "23.11"),
    ("OOMKillStep=0", "24.11", ""),
    ("TresPerNode=gres/gpu:8 MailUser=(null) MailType=INVALID_DEPEND", "", ""),
)

# github.com/HPC2N/intro-course posts this of June 2025; by its fields it is 23.02 or 23.11.
POSTED = (
    "JobId=34815931 JobName=compiler-run UserId=u(2897) GroupId=folk(3001) MCS_label=N/A Priority=2748684 Nice=0 "
    "Account=staff QOS=normal JobState=COMPLETED Reason=None Dependency=(null) Requeue=0 Restarts=0 BatchFlag=1 "
    "Reboot=0 ExitCode=0:0 RunTime=00:00:07 TimeLimit=00:10:00 TimeMin=N/A SubmitTime=2025-06-24T11:36:32 "
    "EligibleTime=2025-06-24T11:36:32 AccrueTime=2025-06-24T11:36:32 StartTime=2025-06-24T11:36:32 "
    "EndTime=2025-06-24T11:36:39 Deadline=N/A SuspendTime=None SecsPreSuspend=0 LastSchedEval=2025-06-24T11:36:32 "
    "Scheduler=Main Partition=cpu_zen4 AllocNode:Sid=b-an01:626814 ReqNodeList=(null) ExcNodeList=(null) "
    "NodeList=b-cn[1703,1705] BatchHost=b-cn1703 NumNodes=2 NumCPUs=12 NumTasks=12 CPUs/Task=1 ReqB:S:C:T=0:0:*:* "
    "ReqTRES=cpu=12,mem=30192M,node=1,billing=12 AllocTRES=cpu=12,mem=30192M,node=2,billing=12 Socks/Node=* "
    "NtasksPerN:B:S:C=0:0:*:* CoreSpec=* MinCPUsNode=1 MinMemoryCPU=2516M MinTmpDiskNode=0 Features=(null) "
    "DelayBoot=00:02:00 OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null) Command=/p/compile-run.sh "
    "WorkDir=/p StdErr=/p/slurm-34815931.out StdIn=/dev/null StdOut=/p/slurm-34815931.out Power= \n"
)


def shown(version: str) -> str:
    """What `scontrol --oneliner show job` of a version prints."""
    wanted = (text for text, since, until in FIELDS if since <= version and version <= (until or "99"))
    return " ".join(wanted) + " \n"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_job_is_the_same_in_every_version(version: str) -> None:
    job = Job("7", "NODE_FAIL", "NodeDown", "2026-01-01T00:00:05", "small-1", 1, 0)
    assert list(reading.shown(shown(version))) == [job]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_heterogeneous_job_is_its_leader(version: str) -> None:
    text = (
        shown(version)
        .replace("JobId=7 ", "JobId=7 HetJobId=7 HetJobOffset=0 ")
        .replace(" UserId=", " HetJobIdSet=7-8 UserId=", 1)
    )
    both = text + text.replace("JobId=7 HetJobId=7 HetJobOffset=0", "JobId=8 HetJobId=7 HetJobOffset=1")
    assert [job.id for job in reading.shown(both)] == ["7", "8"]


def test_a_posted_job() -> None:
    assert list(reading.shown(POSTED)) == [Job("34815931", "COMPLETED", "", "2025-06-24T11:36:32")]
