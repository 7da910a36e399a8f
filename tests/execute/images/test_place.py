"""Programs that make image files: ended with us, waited for where we die; what Slurm's words about their jobs mean."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.execute.held import Held, held
from launcher.execute.images.failure import Failure
from launcher.execute.images.place import Job, run
from launcher.execute.world import Real
from launcher.model.cluster import Cluster
from tests.testbed.bed import until

SITE = {"schema": 1, "name": "s", "store": {"path": "/s", "work": "slurm", "job": {"partition": "cpu", "qos": "q"}}}


def test_what_interrupts_us_ends_all_its_processes(tmp_path: Path) -> None:
    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    script = f"sleep 600 & echo $! >{tmp_path}/pid; echo begun; wait"
    with pytest.raises(KeyboardInterrupt):
        run(("sh", "-c", script), dict(os.environ), interrupt, os.open(tmp_path, os.O_RDONLY))
    pid = int((tmp_path / "pid").read_text())
    until(lambda: not (Path("/proc") / str(pid)).exists() or "Z" in _state(pid) or None)


def _state(pid: int) -> str:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_lines_of_a_progress_bar_are_one() -> None:
    told: list[str] = []
    lock = os.open("/", os.O_RDONLY)
    ran = run(("printf", r"10%%\r90%%\rdone\n\nnext\n"), dict(os.environ), told.append, lock)
    assert (ran.exit, ran.out, told) == (0, "done\nnext", ["done", "next"])


PROGRAM = """\
import os, sys
from pathlib import Path
from launcher.execute.held import held
from launcher.execute.images.place import run
from launcher.execute.world import Real
with held(Real(), Path(sys.argv[1]), "making it", 1.0) as lock:
    run(("sh", "-c", "echo begun; sleep 1.5"), dict(os.environ), lambda line: print(line, flush=True), lock)
"""


def test_it_holds_the_lock_of_whoever_died(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    words = [sys.executable, "-c", PROGRAM, str(lock)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.send_signal(signal.SIGKILL)
    with pytest.raises(Held, match=f"process {running.pid} of"), held(Real(), lock, "making it", 0.0):
        pass
    with held(Real(), lock, "making it", 30.0):  # the program has ended by itself
        pass


STEP = "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-12-01T01:00:00"
OOM = "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0\nsrun: error: n1: task 0: Out Of Memory"
SAID = [
    ("srun: error: invalid partition specified: bach", 1, "failed: invalid partition specified: bach"),
    (f"{STEP} DUE TO TIME LIMIT ***", 1, "reached its time limit"),
    (OOM, 137, "ran out of memory"),
    (f"{STEP} ***\nsrun: error: n1: task 0: Terminated", 143, "was cancelled"),
]


@pytest.mark.parametrize(("said", "status", "means"), SAID)
def test_what_slurm_says_of_its_job(said: str, status: int, means: str, tmp_path: Path) -> None:
    (tmp_path / "said").write_text(said + "\n")
    (tmp_path / "srun").write_text(f'#!/bin/sh\necho "$*" >{tmp_path}/words\ncat {tmp_path}/said >&2\nexit {status}\n')
    (tmp_path / "srun").chmod(0o755)
    world = Real({"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_GPUS": "8"})
    place = Job(world, Cluster.model_validate(SITE), "launch-import-1")
    with pytest.raises(Failure, match=means) as raised:
        place.run(("make", "it"), {}, lambda line: None, os.open(tmp_path, os.O_RDONLY))
    assert raised.value.kind == "slurm"
    assert raised.value.advice
    assert (tmp_path / "words").read_text().split() == [
        *("--nodes=1", "--ntasks=1", "--input=none", "--job-name=launch-import-1", "--partition=cpu", "--qos=q"),
        *("--cpus-per-task=4", "--mem=4G", "--time=01:00:00", "--", "make", "it"),
    ]


def test_what_its_program_says_is_not_slurm_s(tmp_path: Path) -> None:
    own = "srun: job 7 queued and waiting for resources\nsrun: job 7 has been allocated resources\nwrong\n"
    own += "srun: error: n1: task 0: Exited with exit code 4\n"
    (tmp_path / "srun").write_text(f"#!/bin/sh\nprintf '{own}'; exit 4\n")
    (tmp_path / "srun").chmod(0o755)
    place = Job(Real({"PATH": f"{tmp_path}:/usr/bin:/bin"}), Cluster.model_validate(SITE), "launch-import-1")
    ran = place.run(("x",), {}, lambda line: None, os.open(tmp_path, os.O_RDONLY))
    assert (ran.exit, ran.out) == (4, "wrong")
    with pytest.raises(Failure, match="`srun` cannot be run") as raised:
        Job(Real({"PATH": "/nonexistent"}), Cluster.model_validate(SITE), "x").run(("x",), {}, print, 0)
    assert raised.value.kind == "slurm"
