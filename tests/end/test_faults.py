"""Something is killed with signal 9 at each phase of a real run: true cause, documented exit code, nothing left."""

import os
import signal

import pytest

from tests.end.block import listening
from tests.end.deployment import Deployment, ended

PORTS = (6100, 6132, 8000, 29000)

PHASES: dict[str, tuple[tuple[str, ...], tuple[str, dict[str, str]]]] = {
    "starting": (("--set", "roles.worker.flags.startup-delay=300"), ("start", {"step": "worker-1"})),
    "gated": (("--set", "roles.worker.flags.error-after-requests=0"), ("phase", {"phase": "gated"})),
    "ready": ((), ("ready", {})),
}
"""Phase → words that keep a run in it, and the event that says it is there."""

PAIRS = [
    (phase, victim)
    for phase in PHASES
    for victim in ("worker-0", "router", "supervisor", "keeper")
    if (phase, victim) != ("starting", "router")  # it comes after the workers' gates
]


@pytest.mark.parametrize(("phase", "victim"), PAIRS)
def test_killed(deployment: Deployment, phase: str, victim: str) -> None:
    words, (event, facts) = PHASES[phase]
    up = deployment.begin("quickstart", *words)
    deployment.until(event, **facts)
    os.kill(deployment.pid(victim), signal.SIGKILL)
    status, out, err = ended(up)
    outcome = deployment.outcome()
    assert "Traceback" not in err
    assert deployment.left() == []
    assert listening(base + deployment.shift for base in PORTS) == []
    assert status == outcome["exit"]
    if victim in {"supervisor", "keeper"}:
        assert (status, outcome["state"]) == (1, "broken")
        assert f"the {victim} was killed" in outcome["cause"]
        assert "error[run-broken]: " in err
    else:
        assert (status, outcome["state"]) == (7, "failed")
        first = outcome["first"]
        assert (first["step"], first["phase"], first["signal"]) == (victim, phase, 9)
        assert f"error[run-failed]: step `{victim}` was killed by signal 9 (SIGKILL)" in err
        assert f"`launch logs {deployment.run.name} {victim}`" in err
    assert ("is ready at" in out) == (phase == "ready")


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
    assert up.stdout == ""
    assert deployment.left() == []
    assert deployment.outcome()["exit"] == status


def test_last_words_of_the_dead_are_quoted(deployment: Deployment) -> None:
    up = deployment.up("quickstart", "--set", "roles.worker.flags.fail-after=0", "--set", "roles.worker.replicas=1")
    assert "sim: --fail-after 0; exit code 1" in up.stderr
    assert deployment("logs", "last", "worker").stdout.endswith("sim: --fail-after 0; exit code 1\n")


def test_router_that_cannot_start(deployment: Deployment) -> None:
    up = deployment.up("quickstart", "--set", 'router.env.PYTHONHOME="/nowhere"')
    assert up.returncode == 7
    assert "step `router` ended with exit code 1" in up.stderr
    assert "first error: " in up.stderr or "its last lines:" in up.stderr
    assert deployment.left() == []
