"""What is said of a run while it lives and afterwards: `ps`, `logs`, `exec`, and `up`'s own words."""

import json
import signal
import subprocess
from typing import Any

from tests.end.deployment import Deployment, ended, until

PAIR = """\
schema = 1
name = "pair"
[model]
served_name = "tiny"
[roles.worker]
manifest = "sim"
env = { GREETING = "good day, 世界" }
env_from = ["TOKEN"]
[roles.clock]
manifest = "clock"
"""
CLOCK = r"""
schema = 1
name = "clock"
about = "a service that writes"
kind = "service"
[program]
command = ["bash", "-c", 'printf "one\ntwo\n\033[1mbold\033[0m\n\377\nlast"; exec sleep 3600']
"""


def pair(deployment: Deployment) -> str:
    deployment.recipe(CLOCK, "manifests/clock.toml")
    return deployment.recipe(PAIR)


def start(deployment: Deployment, *words: str) -> None:
    up = deployment.up(pair(deployment), "--wait", *words, env={"TOKEN": "x1"})
    assert up.returncode == 0, up.stderr


def ps(deployment: Deployment, *words: str) -> list[dict[str, Any]]:
    document = json.loads(deployment("ps", "--json", *words).stdout)
    assert document["schema"] == 1
    found: list[dict[str, Any]] = document["runs"]
    return found


def test_logs(deployment: Deployment) -> None:
    start(deployment)
    clock = ["one", "two", "bold", "\\xff", "last"]
    assert deployment("logs", "last", "clock").stdout.splitlines() == clock
    assert deployment("logs", "last", "clock", "-n", "2").stdout.splitlines() == ["bold", "\\xff", "last"]
    everyone = deployment("logs", "last").stdout.splitlines()
    assert [line.partition(" | ")[2] for line in everyone if line.startswith("clock    | ")] == clock
    assert any(line.startswith("worker-0 | ") for line in everyone) or len(everyone) == len(clock)
    assert "\033[1mbold" in deployment("logs", "last", "clock", env={"FORCE_COLOR": "1"}).stdout
    wrong = deployment("logs", "last", "clocc")
    assert (wrong.returncode, "did you mean `clock`?" in wrong.stderr) == (2, True)


def test_logs_have_what_the_supervisor_said(deployment: Deployment) -> None:
    start(deployment)
    assert deployment("logs", "last", "supervisor").stdout == ""
    (deployment.run / "supervisor.log").write_text("Traceback\n")
    assert "supervisor | Traceback" in deployment("logs", "last").stdout.splitlines()


def test_logs_follow_until_the_run_ends(deployment: Deployment) -> None:
    start(deployment)
    logs = deployment.start("logs", "last", "-f", "worker")
    deployment.complete()
    assert deployment("down", "last").returncode == 0
    code, out, err = ended(logs)
    assert (code, err) == (0, "")
    assert out == (deployment.run / "logs" / "worker-0.log").read_text()


def test_logs_whose_reader_goes_away(deployment: Deployment) -> None:
    start(deployment)
    logs = deployment.start("logs", "last", "-f")
    assert logs.stdout is not None
    logs.stdout.readline()
    logs.send_signal(signal.SIGINT)
    code, _, err = ended(logs)
    assert (code, err) == (130, "interrupted\n")


def test_exec(deployment: Deployment) -> None:
    start(deployment)

    def execute(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return deployment("exec", "last", *words, env=dict(env))

    variables = dict(line.split("=", 1) for line in execute("worker", "--", "env").stdout.splitlines() if "=" in line)
    assert variables["GREETING"] == "good day, 世界"
    assert variables["LAUNCH_PORT_HTTP"] == str(8000 + deployment.shift)
    assert variables["LAUNCH_RUN"] == str(deployment.run)
    # A secret is not taken from the run; this shell has it or not.
    assert "TOKEN" not in variables
    assert execute("worker-0", "--", "printenv", "TOKEN", TOKEN="mine").stdout == "mine\n"
    assert execute("clock", "--", "pwd").stdout == f"{deployment.run}\n"
    assert execute("clock", "--", "sh", "-c", "exit 9").returncode == 9
    assert execute("clok", "--", "env").returncode == 2
    assert execute("clock").returncode == 2
    assert "`no-such` is not on the `PATH` of `clock`" in execute("clock", "--", "no-such").stderr
    assert f"`./no-such` is not there, in `{deployment.run}`" in execute("clock", "--", "./no-such").stderr


def test_what_was_started_in_a_step_ends_with_the_run(deployment: Deployment) -> None:
    start(deployment)
    shell = deployment.start("exec", "last", "clock", "--", "sleep", "3600")
    until(lambda: shell.pid in deployment.left(), "sleep belongs to the run")
    assert deployment("down", "last").returncode == 0
    assert shell.wait(30) == -signal.SIGKILL
    shell.communicate()
    refused = deployment("exec", "last", "clock", "--", "env")
    assert (refused.returncode, "has ended" in refused.stderr) == (1, True)


def test_ps(deployment: Deployment) -> None:
    assert deployment("ps").stderr == f"there are no runs in `{deployment.home}/state/launch/runs`\n"
    start(deployment)
    (run,) = ps(deployment)
    assert (run["id"], run["state"], run["outcome"], run["live"]) == (deployment.run.name, "ready", None, True)
    table = deployment("ps").stdout.splitlines()
    assert table[0].split() == ["run", "state", "since", "steps", "url"]
    assert table[1].split()[:2] == [deployment.run.name, "ready"]
    deployment("down", "last")
    assert ps(deployment) == []
    assert deployment("ps").stderr == "nothing is running; `launch ps --all` lists 1 that ended\n"
    (run,) = ps(deployment, "--all")
    assert (run["state"], run["outcome"], run["exit"], run["cause"]) == ("ended", "stopped", 0, "stopped by `down`")


def test_dry_run_starts_nothing(deployment: Deployment) -> None:
    done = deployment.up(pair(deployment), "--dry-run", env={"TOKEN": "x1"})
    assert done.returncode == 0
    assert done.stdout.startswith("pair on local: 2 steps on 1 node")
    assert done.stderr == "nothing was started (`--dry-run`)\n"
    assert not (deployment.home / "state").exists()
    refused = deployment.up(pair(deployment), "--dry-run")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "error[variable-absent]: `TOKEN` is not set in this shell" in refused.stderr


def test_what_was_given_is_kept(deployment: Deployment) -> None:
    start(deployment, "--set", 'roles.worker.env.MORE="1"')
    kept = {path.name.partition("-")[2]: path.read_text() for path in (deployment.run / "recipe").iterdir()}
    assert kept["mine.toml"] == PAIR
    assert 'roles.worker.env.MORE="1"' in "".join(kept.values())


def test_up_tells_what_happens(deployment: Deployment) -> None:
    up = deployment.up(pair(deployment), "--wait", env={"TOKEN": "x1"})
    lines = up.stderr.splitlines()
    assert lines[0] == f"started {deployment.run.name} in {deployment.run}"
    assert sorted(line.split()[0] for line in lines[1:3]) == ["clock", "worker-0"]
    assert all("ready after " in line for line in lines[1:3])
    assert f"`launch down {deployment.run.name}` stops it" in lines[3]
    assert up.stdout.splitlines()[0].split() == ["step", "role", "url"]
