"""What may go wrong with a run on a real Slurm: the outcome is true, and nothing is left behind."""

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.slurm.deployment import RECIPE, Deployed, Site, children, kill
from tests.testbed.bed import Bed, until

ONE = RECIPE.replace("replicas = 2", "replicas = 1")


@pytest.fixture
def site(networked: Bed) -> Site:
    return Site(networked)


def ended(run: Deployed) -> tuple[str, int, str]:
    """State, exit code and cause, once nothing is left."""
    outcome = run.outcome()
    run.gone()
    return outcome["state"], outcome["exit"], outcome["cause"]


def test_a_killed_router_ends_the_run(site: Site) -> None:
    run = site.up()
    kill(run.task("router"))
    state, code, cause = ended(run)
    assert (state, code) == ("failed", 7)
    assert cause.startswith("step `router` ended with exit code 137")
    assert site.bed.jobs()[int(run.job)] == "FAILED"


@pytest.mark.parametrize("whole", [False, True], ids=["the client", "the client and its child"])
def test_a_killed_srun_takes_its_step_along(site: Site, whole: bool) -> None:
    run = site.up()
    client = run.started("worker-1")
    kill(*([*children(client, site.bed), client] if whole else [client]))
    state, code, cause = ended(run)
    assert (state, code) == ("failed", 7)
    assert cause.startswith("step `worker-1` was killed by signal 9")


def test_a_killed_supervisor_leaves_an_honest_outcome(site: Site) -> None:
    run = site.up()
    kill(run.heard("begin")["pid"])
    state, code, cause = ended(run)
    assert (state, code) == ("broken", 1)
    assert cause == "the supervisor was killed by signal 9 (SIGKILL)"


def test_a_killed_keeper_leaves_an_honest_outcome(site: Site) -> None:
    run = site.up()
    kill(run.heard("begin")["keeper"])
    state, code, cause = ended(run)
    assert (state, code) in (("broken", 1), ("cancelled", 7))
    assert "keeper was killed" in cause or run.job in cause


def test_a_cancelled_job_says_so(site: Site) -> None:
    run = site.up()
    site.bed.ask("scancel", run.job)
    state, code, cause = ended(run)
    assert (state, code, cause) == ("cancelled", 7, f"job {run.job} was cancelled")
    assert "cancelled" in site.launch("wait", run.name, status=7).stderr


def shorten(run: Deployed) -> None:
    """The job's time limit becomes a minute. Of a shorter job the warning may come before it is ready."""
    run.site.bed.ask("scontrol", "update", f"jobid={run.job}", "timelimit=1")


def test_the_time_limit_is_the_cause_it_says(site: Site) -> None:
    run = site.up()
    shorten(run)
    state, code, cause = ended(run)
    assert (state, code) == ("timeout", 7)
    assert cause == f"the time limit of job {run.job} was reached"
    # The warning came first: roles left by themselves.
    assert {e.get("exit") for e in run.events if e["event"] == "exit"} == {0}


def test_a_node_that_is_silent_does_not_end_the_run_at_once(site: Site) -> None:
    run = site.up()
    site.bed.kill("node2")
    try:
        assert run.ask()
        assert run.told()["state"] == "ready"
    finally:
        site.bed.revive("node2")
    site.launch("down", run.name)
    assert ended(run)[:2] == ("stopped", 0)


def test_a_controller_that_hangs_is_not_waited_for_longer_than_was_said(site: Site) -> None:
    run = site.up()
    controller = site.bed.daemons["slurmctld"].pid
    os.kill(controller, signal.SIGSTOP)
    before = time.monotonic()
    try:
        said = site.launch("wait", run.name, "--ended", "--timeout", "1s", status=6).stderr
        waited = time.monotonic() - before
    finally:
        os.kill(controller, signal.SIGCONT)
    assert "has not ended after 1 s; it goes on" in said
    assert waited < 15
    site.launch("wait", run.name)
    site.launch("down", run.name)
    assert ended(run)[:2] == ("stopped", 0)


@pytest.mark.parametrize("words", [("up", "RECIPE"), ("wait", "RUN"), ("ps",), ("down", "RUN")])
def test_an_interrupt_does_not_wait_for_a_controller_that_hangs(site: Site, words: tuple[str, ...]) -> None:
    run = site.up()
    named = {"RUN": run.name, "RECIPE": site.recipe()}
    controller = site.bed.daemons["slurmctld"].pid
    os.kill(controller, signal.SIGSTOP)
    try:
        with site.begin(*(named.get(word, word) for word in words)) as process:
            until(lambda: asked(site) or None)
            os.kill(process.pid, signal.SIGINT)
            before = time.monotonic()
            said = process.communicate(timeout=120)[1]
            waited = time.monotonic() - before
        assert process.returncode == 130, said
        # Slurm's programs (22.05) wait 40 s for an answer, the launcher a minute for them.
        assert waited < 20
        assert asked(site) == []
    finally:
        os.kill(controller, signal.SIGCONT)


def asked(site: Site) -> list[str]:
    """The user's programs of Slurm that run on the login node."""
    found = [Path(words[0]).name for words in site.bed.processes(site.user).values()]
    return [name for name in found if name in ("squeue", "sinfo", "scontrol", "sacct", "sbatch", "scancel")]


def test_a_suspended_job_is_shown_waited_for_and_ended(site: Site) -> None:
    run = site.up()
    site.bed.ask("scontrol", "suspend", run.job)
    told = run.told()
    assert (told["state"], told["waiting"]) == ("suspended", f"job {run.job} is suspended")
    assert "it goes on" in site.launch("wait", run.name, "--timeout", "1s", status=6).stderr
    site.bed.ask("scontrol", "resume", run.job)
    site.launch("wait", run.name)
    assert run.told()["state"] == "ready"
    site.bed.ask("scontrol", "suspend", run.job)
    before = time.monotonic()
    site.launch("down", run.name)
    assert time.monotonic() - before < 45
    assert ended(run)[:2] == ("stopped", 0)


def test_a_step_that_hears_nothing_is_killed(site: Site) -> None:
    deaf = RECIPE.replace('manifest = "sim"', 'manifest = "sim"\nsetup = "trap \'\' TERM"')
    run = site.up(text=deaf)
    before = time.monotonic()
    site.launch("down", run.name)
    assert ended(run)[:2] == ("stopped", 0)
    assert time.monotonic() - before < 60


SETUPS = {
    "role": ("", "exit 3", "step `worker-0` ended with exit code 3 in the preamble of role `worker`, "),
    "cluster": ("exit 4", "true", "step `worker-0` ended with exit code 4 in the cluster's preamble, "),
}


@pytest.mark.parametrize(("theirs", "own", "cause"), SETUPS.values(), ids=SETUPS)
def test_a_preamble_that_fails_is_named(site: Site, theirs: str, own: str, cause: str) -> None:
    site.file.write_text(f"{site.file.read_text()}\n[setup]\ninline = '{theirs}'\n")
    run = site.started(text=ONE.replace('manifest = "sim"', f'manifest = "sim"\nsetup = "{own}"'))
    assert ended(run)[2].startswith(cause)


def test_stopping_twice_hurries(site: Site) -> None:
    run = site.up()
    with site.begin("down", run.name) as process:
        run.heard("stop")
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert ended(run)[:2] == ("stopped", 0)


def test_a_run_directory_that_vanishes_ends_the_run(site: Site) -> None:
    run = site.up()
    (run.path / "lock").unlink()
    state, code, cause = ended(run)
    assert (state, code, cause) == ("broken", 1, "the run directory has vanished")


def test_a_supervisor_that_hears_nothing_is_ended_by_the_time_limit(site: Site) -> None:
    run = site.up()
    shorten(run)
    begin = run.heard("begin")
    # Neither of them can act on the warning: Slurm itself has to end the job.
    for pid in (begin["pid"], begin["keeper"]):
        os.kill(pid, signal.SIGSTOP)
    assert site.bed.wait(int(run.job), timeout=180) == "TIMEOUT"
    state, code, cause = ended(run)
    assert (state, code) == ("timeout", 7)
    assert cause == f"the time limit of job {run.job} was reached"


def test_a_node_that_is_down_is_waited_for(site: Site) -> None:
    site.bed.ask("scontrol", "update", "nodename=node2,node3", "state=down", "reason=test")
    try:
        done = site.launch("up", site.recipe(), "--detach", "--set", "roles.worker.replicas=3")
        assert "2 of the partition's 3 nodes are down or drained, and the job wants 3" in done.stderr
        run = site.last()
        told = until(lambda: found if "(" in ((found := run.told())["waiting"] or "") else None)
        assert told["state"] == "pending"
        # Which of them depends on when Slurm looked last.
        reasons = ("DOWN", "UNAVAILABLENODES", "RESOURCES")
        assert any(reason in told["waiting"].upper() for reason in reasons), told["waiting"]
        # As long as there are enough others, nothing is said.
        assert "drained" not in site.launch("up", site.recipe(ONE), "--detach").stderr
    finally:
        site.bed.ask("scontrol", "update", "nodename=node2,node3", "state=resume")
    site.launch("down", site.last().name)
    site.launch("wait", run.name)
    assert run.ask(on="login")
    site.launch("down", run.name)
    assert ended(run)[:2] == ("stopped", 0)


def test_a_python_that_no_node_has_is_named(site: Site) -> None:
    site.file.write_text(site.file.read_text().replace(f'python = "{sys.executable}"', 'python = "/opt/none/python3"'))
    said = site.launch("up", site.recipe(ONE), "--wait", status=1).stderr
    assert re.search(r"left no outcome: job \d+ ended as FAILED \(exit code 127\): .*exec: /opt/none/python3: ", said)
    assert "help: the batch script could not start Python: `python` of the cluster file" in said


def test_a_run_directory_that_no_node_sees_is_named(site: Site) -> None:
    before = site.bed.submit("#!/bin/sh\nsleep 600\n", "--nodes=3", "--exclusive")
    run = site.started(text=ONE)
    # What Slurm cannot open for its output, as below a folder that is on the login node alone.
    (run.path / "batch.log").mkdir()
    site.bed.ask("scancel", str(before))
    said = site.launch("wait", run.name, status=1).stderr
    assert f"job {run.job} ended as FAILED (0:53, a node could not open its output file" in said
    assert "help: `runs` of the cluster file must be one folder that all nodes see" in said
