"""Runs that another release started: every verb serves those of an earlier one and leaves a newer one alone."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.run.script import SCHEMA
from launcher.run.sweep import VARIABLE
from tests.end.deployment import Deployment, ended, until
from tests.end.releases import RELEASES, ROOT, thaw
from tests.run.rig import traces

NAME = "alone-20260801-101500-3fa9"


@pytest.fixture(params=RELEASES)
def run(request: pytest.FixtureRequest, deployment: Deployment) -> Path:
    """The run directory of a release, as it was before its run was started."""
    where = deployment.home / "state" / "launch" / "runs" / NAME
    where.parent.mkdir(parents=True)
    thaw(request.param, where, 8000 + deployment.shift)
    for path in (ROOT / "mine.toml", ROOT / "manifests"):
        copy = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, deployment.home / path.name)
    return where


def start(deployment: Deployment, run: Path) -> None:
    """The supervisor of the release starts it, as its `launch up` did."""
    words = [sys.executable, "-I", str(run / "run.pyz"), "--detach", str(run)]
    subprocess.run(words, env={**deployment.env(), VARIABLE: str(run)}, check=True, capture_output=True)


def ps(deployment: Deployment, *words: str) -> dict[str, object]:
    (found,) = json.loads(deployment("ps", "--json", *words).stdout)["runs"]
    return {key: found[key] for key in ("id", "state", "outcome", "exit", "url", "cause")}


def test_a_live_one_is_served(deployment: Deployment, run: Path) -> None:
    start(deployment, run)
    assert deployment("wait", "last").stdout == f"{deployment.url}\n"
    assert ps(deployment) == {
        "id": NAME, "state": "ready", "outcome": None, "exit": None, "url": deployment.url, "cause": None,
    }  # fmt: skip
    assert deployment.complete()["system_fingerprint"] == "worker-0"
    assert deployment("logs", "last", "clock").stdout == "tick\n"
    assert deployment("exec", "last", "worker", "--", "printenv", "GREETING").stdout == "good day, 世界\n"
    logs = deployment.start("logs", "last", "-f")
    down = deployment("down", "last")
    assert (down.returncode, down.stderr) == (0, f"{NAME}: stopped by `down`\n")
    assert ended(logs)[0] == 0
    assert traces(run) == []
    assert ps(deployment, "--all") == {
        "id": NAME, "state": "ended", "outcome": "stopped", "exit": 0, "url": deployment.url,
        "cause": "stopped by `down`",
    }  # fmt: skip
    assert deployment("wait", "last", "--ended").returncode == 0
    assert deployment("logs", "last", "clock").stdout == "tick\n"
    assert "has ended already" in deployment("down", "last").stderr


def test_what_fails_in_it_is_told(deployment: Deployment, run: Path) -> None:
    start(deployment, run)
    assert deployment("wait", "last").returncode == 0
    wait = deployment.start("wait", "last", "--ended")
    deployment("exec", "last", "clock", "--", "sh", "-c", f"kill -9 {deployment.pid('worker-0')}")
    code, _, err = ended(wait)
    assert code == 7
    assert "error[run-failed]: step `worker-0` was killed by signal 9 (SIGKILL), after the run was ready" in err
    assert traces(run) == []


def test_its_plan_is_compared(deployment: Deployment, run: Path) -> None:
    words = ("plan", "mine.toml", "--set", f"ports.public={8000 + deployment.shift}", "--diff", NAME)
    changed = deployment(*words, "--set", 'roles.worker.env.GREETING="good night"')
    assert (changed.returncode, changed.stderr) == (1, "")
    assert "+   good night" in changed.stdout
    assert "-   good day, 世界" in changed.stdout


VERBS = [
    ("logs", NAME),
    ("wait", NAME),
    ("exec", NAME, "worker", "--", "true"),
    ("down", NAME),
    ("plan", "mine.toml", "--diff", NAME),
]


def test_a_newer_one_is_left_alone(deployment: Deployment, run: Path) -> None:
    start(deployment, run)
    assert deployment("wait", "last").returncode == 0
    text = (run / "script.json").read_text()
    raised = {**json.loads(text), "schema": SCHEMA + 1, "unheard": {}}
    (run / "script.json").write_text(json.dumps(raised))
    for words in VERBS:
        done = deployment(*words)
        assert (done.returncode, done.stdout) == (1, ""), words
        assert done.stderr == (
            f"error[run-newer]: a newer `launch` wrote `{NAME}`: its format is {SCHEMA + 1}, and this `launch` knows "
            f"formats up to {SCHEMA}\nhelp: use the one that wrote it\n"
        )
    assert "error[run-newer]: " in deployment("down", "--all").stderr
    assert ps(deployment)["state"] == "ready"
    (run / "script.json").write_text(text)
    assert deployment("down", "last").returncode == 0
    until(lambda: not traces(run), "nothing is left")
