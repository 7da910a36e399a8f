"""Runs in an allocation that is there before them, and jobs that outlive their run."""

import json
import os
import re
import shlex
import signal
from datetime import datetime

import pytest

from launcher.execute.slurm import within
from tests.slurm.deployment import LAUNCH, RECIPE, Deployed, Site
from tests.testbed.bed import Bed, until

ONE = RECIPE.replace("replicas = 2", "replicas = 1")


@pytest.fixture
def site(networked: Bed) -> Site:
    return Site(networked)


def salloc(site: Site, command: str, *options: str) -> str:
    """What a command printed inside `salloc` of two nodes."""
    words = ["salloc", "--nodes=2", "--exclusive", "--gpus-per-node=8", *options, "bash", "-c", command]
    done = site.bed.run(words, env=site.env, cwd=site.folder, timeout=120)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_inside_salloc_nothing_is_submitted(site: Site) -> None:
    recipe = shlex.quote(site.recipe())
    command = f"""set -e
echo $SLURM_JOB_ID
{LAUNCH} up {recipe} --wait >/dev/null
{LAUNCH} ps --json
{LAUNCH} exec last worker-1 -- cat /proc/sys/kernel/hostname
{LAUNCH} down last
squeue --steps --noheader --jobs=$SLURM_JOB_ID --format='left %j'"""
    said = salloc(site, command)
    job, _, rest = said.partition("\n")
    told, end = json.JSONDecoder().raw_decode(rest)
    (run,) = told["runs"]
    assert (run["job"], run["state"]) == (job, "ready")
    assert rest[end:].strip().splitlines() in (["node2"], ["node2", "left interactive"], ["node2", "left extern"])
    assert list(site.bed.jobs()).count(int(job)) == 1
    assert json.loads((Deployed(site, site.last().path, job).path / "outcome.json").read_text())["exit"] == 0


def test_an_allocation_that_is_too_small_is_refused(site: Site) -> None:
    job = site.bed.submit("#!/bin/sh\nsleep 600\n", "--nodes=1", "--exclusive")
    site.bed.wait(job, "RUNNING")
    done = site.launch("up", site.recipe(), "--in", str(job), status=5)
    assert f"job {job} has 1 node, the plan wants 2" in done.stderr
    assert site.runs() == []


def test_an_allocation_that_is_none_is_named_with_where_it_comes_from(site: Site) -> None:
    done = site.launch("up", site.recipe(), "--in", "4711", status=5)
    assert "error[allocation-unfit]: job 4711, which `--in` names, does not run: Slurm knows no such job" in done.stderr
    stale = {"SLURM_JOB_ID": "77777"}
    done = site.launch("up", site.recipe(), env=stale, status=5)
    assert "job 77777, which `SLURM_JOB_ID` names, does not run" in done.stderr
    assert "help: `--in new` submits a job of its own; a shell that outlived its allocation: `unset" in done.stderr
    job = site.bed.submit("#!/bin/sh\nsleep 600\n", "--nodes=2", "--exclusive")
    site.bed.wait(job, "RUNNING")
    site.user = "user"
    done = site.launch("up", site.recipe(), "--in", str(job), status=5)
    assert f"error[allocation-unfit]: job {job}, which `--in` names, is `alice`'s" in done.stderr
    assert site.runs() == []
    site.bed.ask("scancel", str(job))
    site.bed.wait(job)
    done = site.launch("up", site.recipe(), env={"SLURM_JOB_ID": str(job)}, status=5)
    assert f"job {job}, which `SLURM_JOB_ID` names, does not run: it " in done.stderr


def test_a_held_job_takes_the_next_run(site: Site) -> None:
    first = site.started("--hold", text=ONE)
    site.launch("wait", first.name)
    site.bed.run(["kill", "-9", str(first.task("worker-0"))], user="root")
    until(lambda: first.told()["state"] == "ended" or None)
    assert first.told()["exit"] == 7
    assert site.bed.jobs()[int(first.job)] == "RUNNING"
    kept = f"job {first.job} is kept: `launch up … --in {first.job}` uses it, `launch down {first.name}` gives it back"
    assert kept in site.launch("wait", first.name, status=7).stderr
    assert re.search(rf"{first.name} +held +{first.job} ", site.launch("ps").stdout)
    site.launch("up", site.recipe(ONE), "--wait", "--in", first.job)
    second = site.last()
    assert second.job == first.job
    assert second.name != first.name
    assert second.ask()
    site.launch("down", second.name)
    assert site.bed.jobs()[int(first.job)] == "RUNNING"
    said = site.launch("down", "--all").stderr
    assert f"{first.name}: job {first.job}, which was kept, is given back" in said
    site.bed.wait(int(first.job))
    assert "nothing is running" in site.launch("ps").stderr


def test_a_run_inside_a_held_job_is_stopped_before_the_job(site: Site) -> None:
    outer = site.up("--hold", text=ONE)
    slow = ONE.replace('manifest = "sim"', 'manifest = "sim"\nsetup = "trap \'\' TERM"')
    site.launch("up", site.recipe(slow), "--wait", "--in", outer.job, "--set", "ports.shift=1000")
    inner = site.last()
    said = site.launch("down", outer.name, inner.name).stderr
    assert said.index(f"{inner.name}: stopped") < said.index(f"{outer.name}: stopped")
    ends = [datetime.fromisoformat(run.outcome()["ended"]) for run in (inner, outer)]
    assert ends[0] < ends[1]
    assert inner.outcome()["state"] == "stopped"


def test_down_of_a_run_that_holds_its_job_gives_it_back(site: Site) -> None:
    """It ends as soon as the run has: Slurm is not asked to end what would have ended by itself."""
    run = site.up("--hold", text=ONE)
    site.launch("down", run.name)
    assert site.bed.jobs()[int(run.job)] == "COMPLETED"
    assert run.outcome()["state"] == "stopped"


def test_what_a_lost_run_left_in_an_allocation_is_shown_and_ended(site: Site) -> None:
    """Keeper and supervisor are killed at once: their job goes on, and so do its steps."""
    job = site.bed.submit("#!/bin/sh\nsleep 600\n", "--nodes=2", "--exclusive", "--gpus-per-node=8")
    site.bed.wait(job, "RUNNING")
    run = site.up("--in", str(job))
    begin = run.heard("begin")
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in (begin["pid"], begin["keeper"]):
            os.kill(pid, number)
    shown = until(lambda: found if (found := run.told())["state"] == "ended" else None)
    assert (shown["outcome"], {*run.steps().values()} <= {*shown["left"]}) == ("lost", True)
    assert run.steps() != {}
    assert f"{run.name} " in site.launch("ps").stdout
    said = site.launch("down", "--all").stderr
    assert re.search(r"\d steps? that it had left behind were killed", said), said
    assert run.steps() == {}
    assert "nothing is running" in site.launch("down", "--all").stderr
    assert site.bed.jobs()[job] == "RUNNING"


@pytest.mark.parametrize(
    ("text", "job", "sizes", "variables"),
    [
        ("7|7|RUNNING|2|node[1-2]|20001|alice\n", "7", (2,), {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "node[1-2]"}),
        (
            "7+1|8|RUNNING|2|node[2-3]|20001|alice\n7+0|7|RUNNING|1|node1|20001|alice\n",
            "7",
            (1, 2),
            {
                "SLURM_JOB_ID": "7",
                "SLURM_JOB_NODELIST": "node1",
                "SLURM_HET_SIZE": "2",
                "SLURM_JOB_ID_HET_GROUP_0": "7",
                "SLURM_JOB_NODELIST_HET_GROUP_0": "node1",
                "SLURM_JOB_ID_HET_GROUP_1": "8",
                "SLURM_JOB_NODELIST_HET_GROUP_1": "node[2-3]",
            },
        ),
    ],
)
def test_an_allocation_is_read(text: str, job: str, sizes: tuple[int, ...], variables: dict[str, str]) -> None:
    found = within.read(within.rows(text))
    assert found == within.Allocation(job, sizes, variables)
    assert found.nodes == sum(sizes)


def test_components_are_in_the_order_of_their_numbers() -> None:
    text = "".join(f"7+{number}|{7 + number}|RUNNING|{number + 1}|n{number}|1|a\n" for number in reversed(range(12)))
    found = within.read(within.rows(text))
    assert found is not None
    assert found.sizes == tuple(range(1, 13))
    assert found.variables["SLURM_JOB_NODELIST_HET_GROUP_11"] == "n11"


@pytest.mark.parametrize(
    "text",
    ["", "7|7|PENDING|2||1|a\n", "7+0|7|RUNNING|1|n1|1|a\n7+1|8|COMPLETING|1|n2|1|a\n", "error\n"],
)
def test_what_does_not_run_is_none(text: str) -> None:
    assert within.read(within.rows(text)) is None
