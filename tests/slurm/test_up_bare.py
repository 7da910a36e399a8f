"""`launch up` on a real Slurm without containers: from submission to the end."""

import os
import signal
import time

import pytest

from tests.slurm.deployment import RECIPE, Site
from tests.testbed.bed import Bed, until


@pytest.fixture
def site(networked: Bed) -> Site:
    return Site(networked)


def test_a_run_serves_from_another_node_and_goes_without_a_trace(site: Site) -> None:
    run = site.up()
    assert run.ask()
    assert set(run.steps()) == {"worker-0", "worker-1", "router"}
    assert run.told()["state"] == "ready"
    site.launch("down", run.name)
    run.gone()
    outcome = run.outcome()
    assert (outcome["state"], outcome["exit"]) == ("stopped", 0)
    assert site.bed.jobs()[int(run.job)] == "COMPLETED"
    ended = {event["step"]: event for event in run.events if event["event"] == "exit"}
    # Asked gently: each left by itself.
    assert {name: event.get("exit") for name, event in ended.items()} == {"worker-0": 0, "worker-1": 0, "router": 0}
    assert not [event for event in run.events if event["event"] == "kill"]


def test_each_node_is_met_before_anything_starts(site: Site) -> None:
    run = site.up()
    facts = run.heard("facts")["nodes"]
    assert [(node["node"], node["ip"]) for node in facts] == [("node1", "10.77.1.101"), ("node2", "10.77.1.102")]
    assert facts[0]["gpus"] == "0,1,2,3,4,5,6,7"
    names = [event["event"] for event in run.events]
    assert names.index("facts") < names.index("start")
    assert run.heard("begin")["url"] == "http://10.77.1.101:8000"


def test_logs_hold_what_each_step_wrote(site: Site) -> None:
    run = site.up()
    said = site.launch("logs", run.name, "worker-1", "router").stdout
    assert "worker-1 | " in said
    assert "router   | " in said
    assert site.launch("logs", run.name, "worker-0").stdout.count("|") == 0


def test_logs_are_followed_from_the_queue_to_the_end(site: Site) -> None:
    blocker = site.bed.submit("#!/bin/sh\nsleep 600\n", "--nodes=3", "--exclusive", user="user")
    site.bed.wait(blocker, "RUNNING")
    run = site.started()
    with site.begin("logs", run.name, "-f") as every, site.begin("logs", run.name, "-f", "worker-1") as one:
        site.bed.ask("scancel", str(blocker))
        site.launch("wait", run.name)
        assert run.ask()
        site.launch("down", run.name)
        run.gone()
        said, errors = every.communicate(timeout=60)
        alone, _ = one.communicate(timeout=60)
    assert (every.returncode, one.returncode, errors) == (0, 0, "")
    # Whoever followed has seen what is there in the end: what a step's tasks wrote, and what its `srun` said.
    after = grouped(site.launch("logs", run.name).stdout)
    assert after.keys() >= {"worker-0", "worker-1", "router"}
    assert grouped(said) == after
    assert sorted(alone.splitlines()) == after["worker-1"]
    assert set(site.launch("logs", run.name, "worker-1", "-n", "1").stdout.splitlines()) < set(after["worker-1"])


def test_what_slurm_says_of_the_job_is_in_the_logs(site: Site) -> None:
    run = site.started()
    run.heard("ready")
    site.bed.ask("scancel", run.job)
    site.bed.wait(int(run.job))
    said = f"*** JOB {run.job} ON node1 CANCELLED"
    until(lambda: said in (run.path / "batch.log").read_text() or None)
    told = site.launch("logs", run.name).stdout.splitlines()
    assert any(line.startswith("batch ") and said in line for line in told)
    assert said in site.launch("logs", run.name, "batch").stdout


def grouped(said: str) -> dict[str, list[str]]:
    """Step → its lines, sorted."""
    found: dict[str, list[str]] = {}
    for line in said.splitlines():
        name, _, text = line.partition(" | ")
        found.setdefault(name.strip(), []).append(text)
    return {name: sorted(lines) for name, lines in found.items()}


def test_a_command_runs_beside_a_step(site: Site) -> None:
    run = site.up()
    script = 'cat /proc/sys/kernel/hostname; echo "$LAUNCH_IP $LAUNCH_REPLICA $CUDA_VISIBLE_DEVICES"'
    said = site.launch("exec", run.name, "worker-1", "--", "sh", "-c", script).stdout.split("\n")
    assert said[:2] == ["node2", "10.77.1.102 1 0,1,2,3,4,5,6,7"]
    assert site.launch("exec", run.name, "router", "--", "sh", "-c", "exit 3", status=3)
    site.launch("down", run.name)
    refused = site.launch("exec", run.name, "router", "--", "true", status=1).stderr
    assert f"error[run-ended]: `{run.name}` has ended: stopped by `down`" in refused


def test_a_folder_of_runs_that_cannot_be_written_is_named_with_its_place(site: Site) -> None:
    (site.folder / "alice").write_text("no folder")
    said = site.launch("up", site.recipe(), "--detach", status=1).stderr
    line = site.file.read_text().splitlines().index(f'runs = "{site.folder}/$USER/runs"') + 1
    assert "error[run-directory]: the run directory cannot be made" in said
    assert f"bed.toml:{line}:8" in said
    assert "help: let `runs` of the cluster file name a directory with room" in said
    assert "XDG_STATE_HOME" not in said


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGHUP, 143)])
def test_leaving_leaves_the_run(site: Site, number: signal.Signals, code: int) -> None:
    with site.begin("up", site.recipe()) as process:
        run = until(lambda: runs[-1] if (runs := site.runs()) else None)
        until(lambda: "ready" in {event["event"] for event in run.events} or None, timeout=60)
        os.kill(process.pid, number)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == code
    assert f"{run.name} goes on" in said
    assert run.ask()


def test_waiting_ends_with_the_run(site: Site) -> None:
    run = site.started()
    assert site.launch("wait", run.name).stdout.strip() == "http://10.77.1.101:8000"
    site.launch("down", run.name)
    site.launch("wait", run.name, "--ended")


def test_a_job_that_waits_says_why_and_can_be_stopped(site: Site) -> None:
    blocker = site.bed.submit("#!/bin/sh\nsleep 600\n", "--nodes=3", "--exclusive", user="user")
    site.bed.wait(blocker, "RUNNING")
    run = site.started()
    told = until(lambda: found if (found := run.told())["waiting"] and "(" in found["waiting"] else None)
    assert told["state"] == "pending"
    assert told["waiting"].startswith(f"job {run.job} is pending (")
    site.launch("down", run.name)
    outcome = run.outcome()
    assert (outcome["state"], outcome["exit"]) == ("stopped", 0)
    assert site.bed.jobs()[int(run.job)] == "CANCELLED"


def test_two_runs_go_side_by_side(site: Site) -> None:
    one = RECIPE.replace("replicas = 2", "replicas = 1").replace('"small"', '"one"')
    first, second = site.up(text=one), site.up("--set", "ports.shift=1000", text=one.replace('"one"', '"two"'))
    assert first.ask() == second.ask()
    site.launch("down", first.name)
    first.gone()
    assert second.ask()
    site.launch("down", "--all")
    second.gone()


def test_a_busy_port_ends_the_run_before_it_starts_anything(site: Site) -> None:
    listen = "import socket,time; s=socket.socket(); s.bind(('0.0.0.0',8000)); s.listen(); time.sleep(600)"
    with site.bed.start(["python3", "-c", listen], on="node1", user="user") as other:
        until(lambda: site.bed.run(["sh", "-c", "ss -ltn | grep :8000"], on="node1").returncode == 0 or None)
        try:
            done = site.launch("up", site.recipe(), status=1)
        finally:
            other.kill()
    assert "error[nodes-unfit]: port 8000 of node1 is in use" in done.stderr
    assert "help: another program has the port on that node: `launch ps` lists your runs; `--set" in done.stderr
    run = site.last()
    assert run.told()["outcome"] == "unfit"
    assert not [event for event in run.events if event["event"] == "start"]
    run.gone()


def test_a_busy_port_of_a_run_of_ones_own_names_the_run(site: Site) -> None:
    one = RECIPE.replace("replicas = 2", "replicas = 1").replace("gpus = 8", "gpus = 4")
    site.file.write_text(site.file.read_text().replace("[slurm]\n", "[slurm]\nexclusive = false\n"))
    first = site.up(text=one)
    nodes = site.bed.show(int(first.job))["NodeList"]
    said = site.launch("up", site.recipe(one), "--set", f"slurm.sbatch.nodelist={nodes}", status=1).stderr
    assert f"port 8000 of {nodes} is in use by the run `{first.name}`" in said
    assert "help: a run of yours has the port: `launch down RUN` stops it; `--set ports.shift=100` moves ours" in said
    site.launch("down", first.name)


def test_what_slurm_refuses_is_never_submitted(site: Site) -> None:
    done = site.launch("up", site.recipe(), "--set", "slurm.sbatch.constraint=nosuch", status=5)
    assert "Slurm: " in done.stderr
    assert "feature" in done.stderr.lower()
    assert site.runs() == []
    assert not [job for job, state in site.bed.jobs().items() if state in ("PENDING", "RUNNING")]


def test_more_nodes_than_there_are_would_wait_for_ever(site: Site) -> None:
    done = site.launch("up", site.recipe(), "--set", "roles.worker.replicas=9", status=5)
    assert "partition `batch` has 3 nodes, the plan wants 9" in done.stderr
    assert site.runs() == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("slurm.partition=bach",), "did you mean `batch`?"),
        (("slurm.partition=short", "slurm.time=10m"), "partition `short` allows 00:01:00, the job asks for 00:10:00"),
    ],
)
def test_what_the_site_does_not_have_is_refused(site: Site, words: tuple[str, ...], said: str) -> None:
    sets = [part for word in words for part in ("--set", word)]
    assert said in site.launch("up", site.recipe(), *sets, status=5).stderr
    assert site.runs() == []


def test_a_worker_that_dies_is_named(site: Site) -> None:
    run = site.up()
    killed = time.monotonic()
    os.kill(run.task("worker-1"), signal.SIGKILL)
    outcome = run.outcome()
    assert (outcome["state"], outcome["exit"]) == ("failed", 7)
    assert outcome["first"]["step"] == "worker-1"
    assert outcome["first"]["log"] == "logs/worker-1.0.log"
    run.gone()
    # In this order, and within ten times what is promised (`benchmarks/slurm.md`): 2 s, and KillWait + 2 s.
    stamps = {event["event"]: event["t"] for event in reversed(run.events)}
    assert killed < stamps["exit"] <= stamps["stop"] <= stamps["end"]
    assert stamps["exit"] - killed < 20
    assert max(event["t"] for event in run.events) - stamps["exit"] < 70
