"""The testbed is a cluster: several nodes, steps side by side, GPUs, exit codes, signals, heterogeneous jobs."""

import signal
import time
from collections.abc import Sequence

import pytest

from tests.testbed.bed import Bed, until

STEP = ("--overlap", "--nodes=1", "--ntasks=1")


def lines(text: str) -> list[str]:
    return sorted(text.splitlines())


def test_four_nodes_with_names_of_their_own(bed: Bed) -> None:
    assert lines(bed.srun("--nodes=4", "hostname").stdout) == ["node1", "node2", "node3", "node4"]


def test_users_are_ordinary_and_nodes_share_one_folder_but_not_tmp(bed: Bed) -> None:
    here = bed.shared / "shared-by-all"
    line = f"id -un; touch /tmp/$SLURMD_NODENAME {here}.$SLURMD_NODENAME; sleep 0.2; ls /tmp | grep -c node"
    done = bed.srun("--nodes=2", "--nodelist=node1,node2", "sh", "-c", line)
    assert lines(done.stdout) == ["1", "1", "alice", "alice"], done.stderr
    assert [here.with_name(f"{here.name}.node{n}").exists() for n in (1, 2)] == [True, True]
    bed.srun("--nodes=2", "--nodelist=node1,node2", "sh", "-c", "rm /tmp/node*")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--ntasks=2", "sh", "-c", "exit $((SLURM_PROCID + 3))"), 4),
        (("sh", "-c", "kill -KILL $$"), 137),
        (("sh", "-c", "kill -TERM $$"), 143),
        (("no-such-program",), 2),
        (("/etc/passwd",), 13),
        (("--bogus", "true"), 255),
        (("--time=never", "true"), 255),
        (("--test-only", "--nodes=9", "true"), 1),
        (("--test-only", "--gpus-per-node=9", "true"), 1),
        (("--test-only", "--partition=nosuch", "true"), 1),
        (("--test-only", "--nodes=2", "true"), 0),
        (("--container=/nope", "true"), 0),
    ],
)
def test_exit_codes(bed: Bed, words: Sequence[str], code: int) -> None:
    assert bed.srun(*words).returncode == code


def test_export_all_does_not_override(bed: Bed) -> None:
    done = bed.srun("--export=ALL,MINE=new", "sh", "-c", "echo $MINE", env={"MINE": "old"})
    assert done.stdout == "old\n"


def test_steps_overlap_on_one_node(bed: Bed) -> None:
    meet = bed.shared / "meet"
    job = bed.submit(
        f"#!/bin/sh\nmkdir {meet}; chmod 777 {meet}\n"
        f"for i in 1 2 3; do srun {' '.join(STEP)} -w node2 --job-name=s$i "
        f"sh -c 'touch {meet}/$0; until [ $(ls {meet} | wc -l) = 3 ]; do sleep 0.05; done; hostname' $i & done; wait\n",
        "--nodes=2",
        "--nodelist=node1,node2",
    )
    assert bed.wait(job) == "COMPLETED"
    assert (bed.shared / f"job-{job}.out").read_text().splitlines() == ["node2"] * 3


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        (STEP, ["0,1,2,3,4,5,6,7"] * 2),
        ((*STEP, "--gpus-per-node=4"), ["0,1,2,3"] * 2),
        (("--exact", "--nodes=1", "--ntasks=1", "--gpus-per-node=4"), ["0,1,2,3", "4,5,6,7"]),
    ],
)
def test_gpus_of_two_steps_on_one_node(bed: Bed, options: Sequence[str], seen: list[str]) -> None:
    step = f"srun {' '.join(options)} sh -c 'echo $CUDA_VISIBLE_DEVICES; sleep 0.3'"
    job = bed.submit(f"#!/bin/sh\n{step} & {step} & wait\n", "--nodes=1", "--exclusive", "--gpus-per-node=8")
    bed.wait(job)
    assert lines((bed.shared / f"job-{job}.out").read_text()) == seen


def test_only_an_inner_env_masks_gpus(bed: Bed) -> None:
    words = ("env", "CUDA_VISIBLE_DEVICES=5", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    assert bed.srun("--gpus-per-node=2", *words, env={"CUDA_VISIBLE_DEVICES": "7"}).stdout == "5\n"
    assert bed.srun("--gpus-per-node=2", *words[2:], env={"CUDA_VISIBLE_DEVICES": "7"}).stdout == "0,1\n"


TRAP = "trap 'echo trapped; exit 5' TERM; touch {ready}; while :; do sleep 0.05; done"


@pytest.mark.parametrize(
    ("options", "code", "out"), [(("--signal=TERM",), 5, "trapped\n"), ((), 137, ""), (("--signal=KILL",), 137, "")]
)
def test_scancel_of_a_step(bed: Bed, options: Sequence[str], code: int, out: str) -> None:
    ready = bed.shared / f"ready-{len(options)}-{code}-{''.join(options)}"
    with bed.start(["srun", "--job-name=trap", "sh", "-c", TRAP.format(ready=ready)]) as step:
        until(lambda: ready.exists() or None)
        (running,) = bed.steps()
        bed.run(["scancel", *options, running.id])
        said = step.communicate(timeout=60)[0]
    assert (running.name, step.returncode, said) == ("trap", code, out)


def test_term_to_srun_kills_its_tasks_at_once(bed: Bed) -> None:
    ready = bed.shared / "ready-srun"
    with bed.start(["srun", "sh", "-c", TRAP.format(ready=ready)]) as step:
        until(lambda: ready.exists() or None)
        step.send_signal(signal.SIGTERM)
        said = step.communicate(timeout=60)[0]
    assert (step.returncode, said) == (137, "")


def test_scancel_of_a_job_lets_it_end_itself(bed: Bed) -> None:
    ready = bed.shared / "ready-job"
    trap = "trap 'echo batch; exit 0' TERM"
    job = bed.submit(f'#!/bin/bash\n{trap}\nsrun sh -c "{TRAP.format(ready=ready)}" &\nwait; wait\n')
    until(lambda: ready.exists() or None)
    bed.run(["scancel", str(job)])
    assert bed.wait(job) == "CANCELLED"
    bed.settled()
    assert {"batch", "trapped"} & set((bed.shared / f"job-{job}.out").read_text().splitlines())


def test_a_bad_exit_ends_the_other_tasks(bed: Bed) -> None:
    line = "if [ $SLURM_PROCID = 0 ]; then sleep 0.2; exit 7; fi; exec sleep 60"
    done = bed.srun("--nodes=2", "--kill-on-bad-exit=1", "sh", "-c", line)
    assert "task 0: Exited with exit code 7" in done.stderr


def test_a_heterogeneous_job(bed: Bed) -> None:
    step = "srun --overlap --nodes=1 --ntasks=1 --het-group={} hostname"
    script = "#!/bin/sh\n" + "\n".join(step.format(group) for group in (0, 1)) + "\n"
    job = bed.submit(script, "--nodelist=node2", "--nodes=1", ":", "--nodelist=node3", "--nodes=1")
    until(lambda: bed.jobs()[job] == "COMPLETED" or None)
    assert (bed.shared / f"job-{job}.out").read_text().split() == ["node2", "node3"]


def test_output_with_a_task_s_number_is_written_by_the_node(bed: Bed) -> None:
    target = bed.shared / "by-node.%t.out"
    line = "echo one; sleep 0.5; echo two"
    job = bed.submit("#!/bin/sh\nsleep 60\n")
    bed.wait(job, "RUNNING")
    words = ["srun", f"--jobid={job}", "--overlap", "--unbuffered", f"--output={target}", "sh", "-c", line]
    with bed.start(words) as step:
        first = bed.shared / "by-node.0.out"
        until(lambda: (first.exists() and "one" in first.read_text()) or None)
        # It and its shepherd, which would end the step.
        both = [pid for pid, argv in bed.processes("alice").items() if argv[0] == "srun"]
        bed.run(["kill", "-KILL", *map(str, sorted(both, reverse=True))])
        step.communicate(timeout=60)
    until(lambda: "two" in first.read_text() or None)


def test_a_job_outlives_the_slurmd_of_its_node(bed: Bed) -> None:
    job = bed.submit("#!/bin/sh\necho begun; sleep 1; echo done\n", "--nodelist=node3")
    out = bed.shared / f"job-{job}.out"
    until(lambda: (out.exists() and "begun" in out.read_text()) or None)
    bed.kill("node3")
    until(lambda: "done" in out.read_text() or None)
    assert bed.jobs()[job] in ("RUNNING", "COMPLETING")
    bed.revive("node3")
    bed.wait(job)


def test_kill_of_the_batch_script_ends_the_job(bed: Bed) -> None:
    job = bed.submit("#!/bin/sh\nexec sleep 61\n")
    until(lambda: ["sleep", "61"] in bed.processes("alice").values() or None)
    (pid,) = [pid for pid, argv in bed.processes("alice").items() if argv == ["sleep", "61"]]
    bed.run(["kill", "-KILL", str(pid)])
    assert bed.wait(job) == "FAILED"
    assert bed.show(job)["ExitCode"] == "0:9"


def test_a_limit_above_the_partition_s_is_accepted_and_never_starts(bed: Bed) -> None:
    job = bed.submit("#!/bin/sh\n", "--partition=short", "--time=2")
    assert bed.show(job)["JobState"] == "PENDING"
    assert bed.show(job)["Reason"].startswith("Partition")


def test_nothing_runs_after_clear(bed: Bed) -> None:
    began = time.monotonic()
    job = bed.submit("#!/bin/sh\nexec sleep 62\n", "--nodes=4")
    bed.wait(job, "RUNNING")
    bed.clear()
    assert (bed.steps(), bed.processes("alice")) == ([], {})
    assert time.monotonic() - began < 60


def test_what_slurm_lost_is_gone_after_clear(bed: Bed) -> None:
    # Its parent ends first: Slurm, which looks for children of its own, does not find it.
    job = bed.submit("#!/bin/sh\nsetsid sh -c 'setsid sleep 63 & exit' &\nwait\nexec sleep 62\n")
    until(lambda: ["sleep", "63"] in bed.processes("alice").values() or None)
    bed.ask("scancel", "--signal=KILL", str(job))
    bed.clear()
    assert bed.processes("alice") == {}
