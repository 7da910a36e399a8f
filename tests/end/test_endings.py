"""Everybody who may want a run to end: Ctrl-C, TERM, a terminal that hangs up, a reader that goes away, `down`."""

import json
import os
import re
import signal
import socket
import subprocess

import pytest

from launcher.run import proc
from tests.end.deployment import Deployment, ended, until

ALONE = """\
schema = 1
name = "alone"
[model]
served_name = "tiny"
[roles.worker]
manifest = "sim"
"""
SLOW = f"{ALONE}flags = {{ startup-delay = 300.0 }}\n"

STUBBORN = """\
schema = 1
name = "stubborn"
about = "a service that ignores TERM"
kind = "service"
[program]
command = ["bash", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.1; done"]
[stop]
seconds = 120.0
"""


@pytest.mark.parametrize("words", [("--wait",), ()])
def test_signal_before_anything_is_told(deployment: Deployment, words: tuple[str, ...]) -> None:
    """However early it comes, either nothing was started or all of it is ended."""
    for delay in (0.0, 0.2, 0.4, 0.6):
        up = deployment.begin(deployment.recipe(SLOW), *words)
        with pytest.raises(subprocess.TimeoutExpired):
            up.wait(delay or 0.001)
        os.kill(up.pid, signal.SIGTERM)
        code, _, err = ended(up)
        assert code in {143, -signal.SIGTERM}
        assert "Traceback" not in err
        assert all(json.loads(deployment("ps", "--json").stdout)["runs"] == [] for _ in range(1))


def test_second_ctrl_c_does_not_wait_for_the_deaf(deployment: Deployment) -> None:
    deployment.recipe(STUBBORN, "manifests/stubborn.toml")
    up = deployment.begin(deployment.recipe(f'{ALONE}[roles.deaf]\nmanifest = "stubborn"\n'))
    deployment.until("ready")
    os.kill(up.pid, signal.SIGINT)
    deployment.until("stop")
    os.kill(up.pid, signal.SIGINT)
    code, _, _ = ended(up, patience=30)
    assert code == 130
    assert deployment.left() == []


def test_reader_that_goes_away_ends_a_followed_run(deployment: Deployment) -> None:
    up = deployment.begin(deployment.recipe(ALONE))
    assert up.stdout is not None
    up.stdout.close()
    up.stdout = None
    assert up.wait(60) == 141
    assert deployment.left() == []
    assert deployment.outcome()["state"] == "interrupted"


def test_reader_that_goes_away_leaves_a_run_that_was_to_stay(deployment: Deployment) -> None:
    up = deployment.begin(deployment.recipe(ALONE), "--wait")
    assert up.stdout is not None
    up.stdout.close()
    up.stdout = None
    assert up.wait(60) == 141
    assert deployment("wait", "last").returncode == 0


def test_what_a_lost_run_left_is_shown_and_ended(deployment: Deployment) -> None:
    """Keeper and supervisor are killed at once: nobody is there to end the steps."""
    assert deployment.up(deployment.recipe(ALONE), "--wait").returncode == 0
    both = [deployment.pid(who) for who in ("keeper", "supervisor")]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in both:
            os.kill(pid, number)
    until(lambda: not any(proc.alive(pid) for pid in both), "both are gone")
    left = deployment.left()
    assert deployment.pid("worker-0") in left
    assert re.search(rf"^{deployment.run.name} +lost ", deployment("ps").stdout, re.MULTILINE)
    [shown] = json.loads(deployment("ps", "--json").stdout)["runs"]
    assert (shown["state"], shown["outcome"], shown["left"]) == ("ended", "lost", left)
    waited = deployment("wait", "last")
    assert (waited.returncode, f"help: `launch down {deployment.run.name}` ends" in waited.stderr) == (1, True)
    down = deployment("down", "--all")
    assert down.returncode == 0
    assert f"that it had left behind {'were' if len(left) > 1 else 'was'} killed" in down.stderr
    assert deployment.left() == []
    assert "nothing is running" in deployment("down", "--all").stderr


def test_down_of_all_and_of_none(deployment: Deployment) -> None:
    assert deployment.up(deployment.recipe(ALONE), "--wait").returncode == 0
    everything = deployment("down", "--all")
    assert (everything.returncode, everything.stderr) == (0, f"{deployment.run.name}: stopped by `down`\n")
    assert deployment("down", "--all").stderr == "nothing is running\n"
    # It was ready, and is of no use to whoever asks now.
    assert (deployment("wait", "last").returncode, deployment("wait", "last", "--ended").returncode) == (1, 0)
    again = deployment("down", "last")
    assert again.returncode == 0
    assert "has ended already (stopped by `down`)" in again.stderr


def test_detached_run_outlives_its_shell(deployment: Deployment) -> None:
    up = deployment.begin(deployment.recipe(ALONE), "--detach")
    code, out, _ = ended(up)
    assert (code, out) == (0, f"{deployment.run.name}\n")
    # The session that started it is gone, with everything that was in it.
    assert deployment("wait", deployment.run.name).stdout == f"http://127.0.0.1:{8000 + deployment.shift}\n"


def test_wait_tells_how_a_run_ended(deployment: Deployment) -> None:
    deployment.up(deployment.recipe(f"{ALONE}flags = {{ fail-after = 0.0, exit-code = 5 }}\n"), "--detach")
    ready = deployment("wait", "last")
    assert ready.returncode == 7
    assert "ended with exit code 5" in ready.stderr
    assert deployment("wait", "last", "--ended").returncode == 7
    [_, row] = deployment("ps", "--all").stdout.splitlines()
    assert row.split()[1] == "failed" and "step `worker-0` ended with exit code 5, " in row


def test_wait_gives_up(deployment: Deployment) -> None:
    deployment.up(deployment.recipe(SLOW), "--detach")
    waited = deployment("wait", "last", "--timeout", "1s")
    assert waited.returncode == 6
    assert "is not ready after 1 s; it goes on" in waited.stderr
    assert json.loads(deployment("ps", "--json").stdout)["runs"][0]["live"]


def test_busy_port_is_refused_before_anything_is_made(deployment: Deployment) -> None:
    with socket.create_server(("127.0.0.1", 8000 + deployment.shift)):
        up = deployment.up(deployment.recipe(ALONE))
        assert up.returncode == 1
        assert f"port {8000 + deployment.shift} (the public one) is in use by `" in up.stderr
        assert f"(pid {os.getpid()}, user " in up.stderr
        assert "help: `--set ports." in up.stderr
    assert not (deployment.home / "state").exists()


def test_ports_of_another_run_of_ours(deployment: Deployment) -> None:
    """Told once, with what ends it: the routers of both have written over their environments."""
    assert deployment.up("quickstart", "--wait").returncode == 0
    again = deployment.up("quickstart")
    assert again.returncode == 1
    assert again.stderr.count("error[port-in-use]: ") == 1
    assert f"are in use by the run `{deployment.run.name}`\n" in again.stderr
    assert f"help: `launch down {deployment.run.name}` stops it; or `--set ports.shift=" in again.stderr
    assert len(deployment.runs) == 1


def test_ports_of_a_run_that_has_not_bound_them_yet(deployment: Deployment) -> None:
    """Its router would have answered for the other's: both would have been ready, and one soon dead."""
    slow = deployment.recipe(SLOW)
    assert deployment.up(slow, "--detach").returncode == 0
    again = deployment.up(slow, "--wait")
    assert (again.returncode, len(deployment.runs)) == (1, 1)
    assert f"in use by the run `{deployment.run.name}`\n" in again.stderr
    assert deployment("check", slow, *deployment.ports, "--probe").returncode == 1


def test_one_of_two_that_start_at_once_has_the_ports(deployment: Deployment) -> None:
    slow = deployment.recipe(SLOW)
    both = [deployment.begin(slow, "--detach") for _ in range(2)]
    told = [process.communicate(timeout=60)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 1]
    assert "".join(told).count("error[port-in-use]: ") == 1
    assert len(deployment.runs) == 1


@pytest.mark.parametrize("words", [("--in", "33"), ("--hold",)], ids=["in", "hold"])
def test_options_of_slurm_are_refused_where_there_is_none(deployment: Deployment, words: tuple[str, ...]) -> None:
    up = deployment.up(deployment.recipe(ALONE), *words)
    assert (up.returncode, f"`{words[0]}` is about a Slurm job" in up.stderr, deployment.runs) == (2, True, [])


def test_busy_port_is_found_by_a_check_that_asks(deployment: Deployment) -> None:
    recipe = deployment.recipe(ALONE)
    words = ("check", recipe, *deployment.ports)
    assert deployment(*words, "--probe").returncode == 0
    with socket.create_server(("127.0.0.1", 8000 + deployment.shift)):
        assert deployment(*words).returncode == 0
        asked = deployment(*words, "--probe", "--format", "concise")
    assert asked.returncode == 1
    assert f"error[port-in-use]: port {8000 + deployment.shift} (the public one) is in use by `" in asked.stdout
    # What must be written anew hides no less: the port, which is free tomorrow, does not decide the exit code.
    with socket.create_server(("127.0.0.1", 8000 + deployment.shift)):
        both = deployment(*words, "--probe", "--set", "roles.worker.setup=if")
    assert both.returncode == 3
    assert "error[port-in-use]" in both.stdout and "error[setup-syntax]" in both.stdout
    assert not (deployment.home / "state").exists()


def test_busy_port_that_was_moved(deployment: Deployment) -> None:
    with socket.create_server(("127.0.0.1", 8000 + deployment.shift)):
        refused = deployment.up(deployment.recipe(ALONE)).stderr
        advised = refused.partition("help: `--set ")[2].partition("`")[0]
        assert deployment.up(deployment.recipe(ALONE), "--wait", "--set", advised).returncode == 0


@pytest.mark.parametrize("delay", [0.0, 0.1, 0.25])
def test_ctrl_c_of_a_terminal_while_the_run_is_started(deployment: Deployment, delay: float) -> None:
    """A terminal signals the whole process group: it must not reach what is being started."""
    up = deployment.begin(deployment.recipe(ALONE))
    until(lambda: deployment.runs, "a run directory")
    with pytest.raises(subprocess.TimeoutExpired):
        up.wait(delay or 0.001)
    os.killpg(up.pid, signal.SIGINT)
    code, _, err = ended(up)
    assert code == 130, err
    assert "error[" not in err
    assert deployment.outcome()["by"] == "SIGINT"
    assert deployment.left() == []


def test_taken_down_before_it_was_ready_is_no_success(deployment: Deployment) -> None:
    """A script that waits for a deployment must not take it for one."""
    up = deployment.begin(deployment.recipe(SLOW), "--wait")
    deployment.until("start")
    wait = deployment.start("wait", deployment.run.name)
    deployment.started.append(wait)
    assert deployment("down", "last").returncode == 0
    assert [ended(waiting)[0] for waiting in (up, wait)] == [1, 1]
    assert deployment.outcome()["exit"] == 0
