"""What may happen to a run at each phase of it: true cause, documented exit code, nothing left."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end.deployment import Deployment, ended
from tests.end.faults import DISK, FAULTS, PHASES, RECIPE, SURROUNDINGS, begin, judge
from tests.run.test_disk import NAMESPACE

TABLE = [(phase, name) for name, fault in FAULTS.items() for phase in fault.phases]


@pytest.mark.parametrize(("phase", "name"), TABLE)
def test_fault(deployment: Deployment, phase: str, name: str) -> None:
    judge(begin(deployment, phase), phase, FAULTS[name])


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", DISK)
def test_disk(tmp_path: Path, phase: str, name: str) -> None:
    words = [*NAMESPACE, sys.executable, "-m", "tests.end.faults", phase, name, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_surroundings(deployment: Deployment, phase: str, name: str) -> None:
    judge(begin(deployment, phase, SURROUNDINGS[name]), phase, FAULTS["worker-killed"])


def test_port_that_somebody_takes_meanwhile(deployment: Deployment) -> None:
    """It was free when `up` looked."""
    up = deployment.begin(deployment.recipe(RECIPE), "--set", "roles.worker.flags.startup-delay=1")
    deployment.until("start", step="worker-0")
    with socket.create_server(("127.0.0.1", 8000 + deployment.shift)):
        code, _, err = ended(up)
    assert code == 7
    assert "error[run-failed]: step `router` ended with exit code 1, " in err
    assert "help: another process has the port: `ss -ltnp` names it" in err
    assert deployment.left() == []


DEATHS = [
    (("fail-after=0", "exit-code=3"), 7, "step `worker-0` ended with exit code 3, while the run was starting"),
    (("fail-after=0", "exit-code=0"), 7, "step `worker-0` ended with exit code 0 although it should last"),
    (("never-healthy=true",), 6, "step `worker-0` was not ready within 2 s: its gate http "),
    (("error-after-requests=0",), 6, "the run was not ready within 4 s: complete "),
]


@pytest.mark.parametrize(("flags", "status", "cause"), DEATHS)
def test_worker_that_fails_by_itself(deployment: Deployment, flags: tuple[str, ...], status: int, cause: str) -> None:
    sets = [word for flag in flags for word in ("--set", f"roles.worker.flags.{flag}")]
    up = deployment.up("quickstart", "--wait", *sets, "--timeout", "4s" if "error" in flags[0] else "2s")
    assert up.returncode == status
    # Either worker may be the first to die.
    assert cause in up.stderr or cause.replace("worker-0", "worker-1") in up.stderr
    assert ("help: `[ready] timeout` of the recipe, or `--timeout`, gives it longer" in up.stderr) is (status == 6)
    assert up.stdout == ""
    assert deployment.left() == []
    assert deployment.outcome()["exit"] == status


def test_last_words_of_the_dead_are_quoted(deployment: Deployment) -> None:
    up = deployment.up("quickstart", "--set", "roles.worker.flags.fail-after=0", "--set", "roles.worker.replicas=1")
    assert "sim: --fail-after 0; exit code 1" in up.stderr
    assert "sim: --fail-after 0; exit code 1\n" in deployment("logs", "last", "worker").stdout


SETUPS = [
    ("exit 3", "step `worker-0` ended with exit code 3 in the preamble of role `worker`, while the run was starting"),
    ("echo most; exit 0", "ended with exit code 0 in the preamble of role `worker` although it should last, while"),
    ("kill -9 $$", "step `worker-0` was killed by signal 9 (SIGKILL), while the run was starting"),
]


@pytest.mark.parametrize(("setup", "cause"), SETUPS)
def test_a_preamble_that_ends_is_named(deployment: Deployment, setup: str, cause: str) -> None:
    more = ("roles.worker.replicas=1", f"roles.worker.setup={setup}")
    up = deployment.up("quickstart", *(word for each in more for word in ("--set", each)))
    assert up.returncode == 7
    assert cause in up.stderr
    named = "in the preamble" in cause
    assert ("help: `setup` of the role, or of its manifest, runs before the program" in up.stderr) is named
    assert deployment.outcome()["first"]["setup"] == ("role" if named else None)


def test_the_cluster_s_preamble_is_named(deployment: Deployment) -> None:
    site = deployment.recipe('schema = 1\nname = "local"\n[setup]\ninline = "nosuch"\n', "local.toml")
    up = deployment.up("quickstart", "--cluster", site, "--set", "roles.worker.replicas=1")
    assert up.returncode == 7
    assert "error[run-failed]: step `worker-0` ended with exit code 127 in the cluster's preamble, while" in up.stderr
    assert deployment.outcome()["first"]["setup"] == "cluster"


def test_router_that_cannot_start(deployment: Deployment) -> None:
    up = deployment.up("quickstart", "--set", 'router.env.PYTHONHOME="/nowhere"')
    assert up.returncode == 7
    assert "step `router` ended with exit code 1" in up.stderr
    assert "first error: " in up.stderr or "its last lines:" in up.stderr
    assert deployment.left() == []
