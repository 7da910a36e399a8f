"""Whoever is killed, and whenever: the true first cause, the documented exit code, nothing left."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.run import lock
from launcher.run.script import Gate, Script, Stop, ref
from tests.run.rig import IDLE, Rig, Watched, child, port, python, script, server, shut, until

# A step whose tree reaches into another session and does not hear TERM.
TREE = (
    "import os, signal, subprocess, sys, time\n"
    "subprocess.Popen([sys.executable, '-I', '-S', '-c', 'import time; time.sleep(3600)'],\n"
    "                 start_new_session=True, env={'A': 'b'})\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "open('deaf', 'w')\n" + IDLE
)


def starting() -> Script:
    """The worker's gate stays shut, so that the router is not started."""
    return script(child("worker", python(TREE), gates=(shut(port()),)), server("router", port(), after=("worker",)))


def gated() -> Script:
    """The router is started and its gate stays shut."""
    return script(
        server("worker", port()),
        child("side", python(TREE)),
        child("router", python(TREE), after=("worker",), gates=(shut(port()),)),
    )


def ready() -> Script:
    """All is well."""
    number = port()
    return script(
        server("worker", number),
        child("side", python(TREE)),
        server("router", port(), after=("worker",)),
        ready=(Gate("http", f"http://{ref('ip', 0)}:{number}/", every=0.02),),
    )


def in_phase(rig: Rig, phase: str, interpreter: str = sys.executable) -> Watched:
    """A run that has reached the phase, with all its processes there."""
    wanted, event, step = {
        "starting": (starting, "gate-shut", "worker"),
        "gated": (gated, "gate-shut", "router"),
        "ready": (ready, "ready", None),
    }[phase]
    watched = rig.start(wanted(), interpreter)
    watched.event(event, step)
    return watched


MATRIX = [
    (victim, phase)
    for phase in ("starting", "gated", "ready")
    for victim in ("worker", "router", "supervisor", "keeper")
    if (victim, phase) != ("router", "starting")
]


@pytest.mark.parametrize(("victim", "phase"), MATRIX)
def test_killed(rig: Rig, victim: str, phase: str) -> None:
    watched = in_phase(rig, phase)
    os.kill(watched.pid(victim), signal.SIGKILL)
    _judge(watched, victim, phase)


@pytest.mark.parametrize("victim", ["worker", "supervisor", "keeper"])
def test_killed_under_the_oldest_python(rig: Rig, python39: str, victim: str) -> None:
    watched = in_phase(rig, "ready", python39)
    os.kill(watched.pid(victim), signal.SIGKILL)
    _judge(watched, victim, "ready")


def _judge(watched: Watched, victim: str, phase: str) -> None:
    found = watched.ended()
    first = found.first or {}
    if victim in ("worker", "router"):
        assert (found.state, found.exit) == ("failed", 7)
        assert (first["step"], first["phase"], first["signal"]) == (victim, phase, 9)
        assert found.cause is not None and f"step `{victim}` was killed by signal 9 (SIGKILL)" in found.cause
    else:
        causes = {"supervisor": "the supervisor was killed by signal 9 (SIGKILL)", "keeper": "the keeper was killed"}
        assert (found.state, found.exit, found.cause) == ("broken", 1, causes[victim])
    assert watched.left() == []
    assert watched.events()[-1]["event"] == "end"


def test_supervisor_killed_while_it_ends_the_run_keeps_the_first_cause(rig: Rig) -> None:
    deaf = child("deaf", python(TREE), stop=Stop(seconds=20.0))
    worker = child("worker", ("sh", "-c", "while ! test -e deaf; do sleep 0.02; done; exit 3"))
    watched = rig.start(script(worker, deaf))
    watched.event("exit", "worker")
    watched.event("stop")
    os.kill(watched.pid("supervisor"), signal.SIGKILL)
    found = watched.ended()
    assert found.exit == 1
    assert (
        found.cause is not None
        and "while it ended the run, because: step `worker` ended with exit code 3" in found.cause
    )
    assert found.first is not None and found.first["step"] == "worker"
    assert watched.left() == []


def test_keeper_and_supervisor_killed_leave_what_down_finds(rig: Rig) -> None:
    # Nobody is left to notice: the steps live on until somebody asks.
    watched = in_phase(rig, "ready")
    keeper, supervisor = watched.pid("keeper"), watched.pid("supervisor")
    for pid in (keeper, supervisor):
        os.kill(pid, signal.SIGSTOP)
    for pid in (keeper, supervisor):
        os.kill(pid, signal.SIGKILL)
    found = watched.ended()
    assert (found.state, found.exit) == ("lost", 1)
    assert watched.left() != []
    rig.close()
    assert watched.left() == []


def test_term_to_the_keeper_is_passed_on(rig: Rig) -> None:
    watched = in_phase(rig, "ready")
    os.kill(watched.pid("keeper"), signal.SIGTERM)
    found = watched.ended()
    assert (found.state, found.exit) == ("interrupted", 143)
    assert watched.left() == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_signal_to_keeper_and_supervisor_at_once_is_one_request(rig: Rig, number: int, code: int) -> None:
    slow = "import os, signal, time\nsignal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.2), os._exit(0)))\n" + IDLE
    watched = rig.start(script(child("slow", python(slow), stop=Stop(seconds=20.0))))
    watched.event("ready")
    until(lambda: _catches_term(watched.pid("slow")), "the step has its handler")
    for victim in ("keeper", "supervisor"):
        os.kill(watched.pid(victim), number)
    assert watched.ended().exit == code
    # Killed at once it would have ended by a signal.
    assert watched.event("exit", "slow")["exit"] == 0


def _catches_term(pid: int) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    caught = [line for line in lines if line.startswith("SigCgt")]
    return bool(int(caught[0].split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def test_foreground_keeper_exits_with_the_code_of_the_run(rig: Rig, python39: str) -> None:
    run = rig.create(script(child("worker", python("raise SystemExit(3)"))))
    done = subprocess.run([python39, str(run.path / "run.pyz"), str(run.path)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")
    assert json.loads((run.path / "outcome.json").read_text())["exit"] == 7


def test_a_second_keeper_is_refused_and_told_of_the_first(rig: Rig) -> None:
    watched = in_phase(rig, "ready")
    words = [sys.executable, str(watched.path / "run.pyz"), str(watched.path)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"held by process {watched.pid('keeper')}" in done.stderr
    assert lock.held(str(watched.path))


def test_usage() -> None:
    done = subprocess.run([sys.executable, "-m", "launcher.run"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "usage: run.pyz [--detach] RUNDIR\n")


def test_last_words_are_said_when_everything_is_gone(rig: Rig) -> None:
    worker = child("worker", python("import os, sys\nopen('pid', 'w').write(str(os.getpid()))\n" + IDLE))
    words = (("sh", "-c", "test -e /proc/$(cat pid) || echo gone > said; pwd >> said"), ("no-such-program",))
    watched = rig.start(script(worker, last_words=words))
    until((watched.path / "pid").exists, "the worker is there")
    watched.event("ready")
    os.kill(watched.pid("supervisor"), signal.SIGKILL)
    watched.ended()
    assert (watched.path / "said").read_text() == f"gone\n{watched.path}\n"
    said, unsaid = watched.events("last-words")
    assert said["ended"] == 0
    assert "no-such-program" in str(unsaid["ended"])
