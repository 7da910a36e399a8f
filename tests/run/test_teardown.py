"""Stopping: who asked decides the exit code, everything is bounded, nothing is left."""

import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from launcher.execute import local
from launcher.run import proc
from launcher.run.script import Budgets, Stop
from tests.run.rig import IDLE, STUBBORN, Rig, Watched, child, python, script, until

DAEMON = """
import os, signal, sys, time
if os.fork():
    {parent}
os.setsid()
if os.fork():
    os._exit(0)
os.chdir("/")
for number in range(3):
    os.close(number)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
handle = os.open({note!r} + ".part", os.O_WRONLY | os.O_CREAT)
os.write(handle, str(os.getpid()).encode())
os.close(handle)
os.rename({note!r} + ".part", {note!r})
os.execve(sys.executable, ["daemon", "-I", "-S", "-c", "import time; time.sleep(3600)"], {{}})
"""
SLOW = """
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: (time.sleep({seconds}), {last}))
print("there", flush=True)
"""
FOREVER = Stop(seconds=3600.0)


def daemon(path: Path, parent: str) -> tuple[str, ...]:
    """A step that leaves a process in no session, environment or directory of ours, deaf to TERM."""
    return python(DAEMON.format(note=str(path), parent=parent))


ASKED = [
    ("down", "stopped", 0),
    ("SIGINT", "interrupted", 130),
    ("SIGTERM", "interrupted", 143),
    ("SIGHUP", "interrupted", 143),
]


@pytest.mark.parametrize(("by", "state", "code"), ASKED)
def test_who_asks_decides_the_exit_code(rig: Rig, by: str, state: str, code: int) -> None:
    watched = rig.start(script(child("a", ("sleep", "3600"))))
    watched.event("ready")
    local.stop(rig.world, watched.run, by)
    found = watched.ended()
    assert (found.state, found.exit) == (state, code)
    assert found.first is None
    assert watched.left() == []


def test_stopping_while_starting(rig: Rig) -> None:
    watched = rig.start(script(child("a", ("sleep", "3600"), lasting=False), child("b", ("sleep", "1"), after=("a",))))
    local.stop(rig.world, watched.run)
    assert watched.ended().exit == 0
    assert watched.left() == []


def test_everybody_is_asked_at_once(rig: Rig) -> None:
    # Each notes when it heard and lives on until both have.
    code = (
        "import os, signal, sys, time\n"
        "def heard(*_):\n"
        "    open(sys.argv[1] + '.heard', 'w').write(str(time.monotonic_ns()))\n"
        "    while not os.path.exists(sys.argv[2] + '.heard'): time.sleep(0.01)\n"
        "    os._exit(0)\n"
        "signal.signal(signal.SIGTERM, heard)\n"
        "open(sys.argv[1] + '.there', 'w')\n" + IDLE
    )
    worker = child("worker", python(code, "worker", "router"), stop=FOREVER)
    router = child("router", python(code, "router", "worker"), stop=FOREVER, after=("worker",))
    watched = rig.start(script(worker, router, budgets=Budgets(30.0, 3600.0)))
    for name in ("worker", "router"):
        until((watched.path / f"{name}.there").exists, f"{name} has its handler")
    local.stop(rig.world, watched.run)
    assert [event["exit"] for event in watched.events("exit")] == [0, 0]
    assert watched.events("kill") == []


def test_the_signal_is_the_step_s_own(rig: Rig) -> None:
    code = "import os, signal\nsignal.signal(signal.SIGINT, lambda *_: os._exit(5))\nopen('there', 'w')\n" + IDLE
    watched = rig.start(
        script(child("a", python(code), stop=Stop("INT", 3600.0), cwd=str(rig.state)), budgets=Budgets(30, 3600))
    )
    until((rig.state / "there").exists, "the step has its handler")
    local.stop(rig.world, watched.run)
    assert watched.event("exit")["exit"] == 5


@pytest.mark.parametrize(
    ("stop", "budget"), [(Stop(seconds=0.1), 3600.0), (FOREVER, 0.1)], ids=["its own seconds", "the budget of all"]
)
def test_a_step_that_does_not_hear_is_killed(rig: Rig, stop: Stop, budget: float) -> None:
    watched = rig.start(script(child("deaf", python(STUBBORN), stop=stop), budgets=Budgets(30.0, budget)))
    until(lambda: "deaf" in _log(watched, "deaf"), "the step is deaf")
    local.stop(rig.world, watched.run)
    assert watched.event("exit")["signal"] == 9
    assert [event["step"] for event in watched.events("kill")] == ["deaf"]
    assert watched.ended().exit == 0
    assert watched.left() == []


def test_asking_twice_kills_at_once(rig: Rig) -> None:
    watched = rig.start(script(child("deaf", python(STUBBORN), stop=FOREVER), budgets=Budgets(30.0, 3600.0)))
    until(lambda: "deaf" in _log(watched, "deaf"), "the step is deaf")
    asking = threading.Thread(target=local.stop, args=(rig.world, watched.run, "SIGINT"))
    asking.start()
    first = watched.event("stop")
    until(lambda: time.monotonic() > first["t"] + 0.6, "a second request is not the echo of the first")
    local.stop(rig.world, watched.run, "SIGINT", hasten=True)
    asking.join()
    assert watched.ended().exit == 130
    assert watched.left() == []


def test_two_at_once_ask_once(rig: Rig) -> None:
    slow = python(SLOW.format(seconds=1.0, last="os._exit(4)") + IDLE)
    watched = rig.start(script(child("slow", slow, stop=FOREVER), budgets=Budgets(30.0, 3600.0)))
    until(lambda: _log(watched, "slow") != "", "the step has its handler")
    asking = [threading.Thread(target=local.stop, args=(rig.world, watched.run)) for _ in range(4)]
    for thread in asking:
        thread.start()
    watched.event("stop")
    local.stop(rig.world, watched.run)
    for thread in asking:
        thread.join()
    assert watched.event("exit")["exit"] == 4
    assert watched.ended().exit == 0
    local.stop(rig.world, watched.run)
    assert watched.ended().exit == 0


def test_a_stop_nobody_told_the_keeper_of_is_told_again(rig: Rig) -> None:
    watched = rig.start(script(child("a", ("sleep", "3600"))))
    watched.event("ready")
    # As left by a `down` that was killed between the two.
    (watched.path / "stop.json").write_text('{"by": "down"}')
    local.stop(rig.world, watched.run)
    assert watched.ended().exit == 0


def test_a_stopped_process_is_woken_to_hear(rig: Rig) -> None:
    watched = rig.start(script(child("a", ("sleep", "3600"), stop=FOREVER), budgets=Budgets(30.0, 3600.0)))
    watched.event("ready")
    os.kill(watched.pid("a"), signal.SIGSTOP)
    local.stop(rig.world, watched.run)
    assert watched.event("exit")["signal"] == signal.SIGTERM


STAYS, LEAVES = "os.wait(); time.sleep(3600)", "os.wait(); os._exit(0)"


@pytest.mark.parametrize(
    ("victim", "parent"), [("", STAYS), ("", LEAVES), ("supervisor", LEAVES), ("keeper", STAYS)], ids=str
)
def test_a_daemon_is_found(rig: Rig, victim: str, parent: str, tmp_path: Path) -> None:
    note = tmp_path / "daemon.pid"
    steps = (child("a", daemon(note, parent), critical=False), child("b", ("sleep", "3600")))
    watched = rig.start(script(*steps, budgets=Budgets(30.0, 0.5)))
    until(note.exists, "the daemon is there")
    pid = int(note.read_text())
    until(lambda: Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"daemon"), "it has cleared its environment")
    if victim:
        os.kill(watched.pid(victim), signal.SIGKILL)
    else:
        local.stop(rig.world, watched.run)
    assert watched.ended().exit == (1 if victim else 0)
    assert not proc.alive(pid)
    assert watched.left() == []


def test_a_daemon_of_a_run_whose_keeper_and_supervisor_were_killed_is_found(rig: Rig, tmp_path: Path) -> None:
    # Its environment is empty, its directory `/`, its session its own: what tells of it is the journal alone.
    note = tmp_path / "daemon.pid"
    watched = rig.start(script(child("a", daemon(note, STAYS)), child("b", ("sleep", "3600"))))
    until(note.exists, "the daemon is there")
    watched.event("session")
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in (watched.pid("keeper"), watched.pid("supervisor")):
            os.kill(pid, number)
    assert watched.ended().state == "lost"
    assert proc.alive(int(note.read_text()))
    rig.close()
    assert not proc.alive(int(note.read_text()))
    assert watched.left() == []


def test_the_rest_of_a_group_gets_the_time_of_its_step(rig: Rig) -> None:
    # The leader ends at once; the one that has work left is in its group.
    inner = SLOW.format(seconds=0.3, last="open('done', 'w'), os._exit(0)") + IDLE
    code = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-I', '-S', '-c', {inner!r}])\n" + IDLE
    watched = rig.start(script(child("a", python(code), stop=FOREVER), budgets=Budgets(30.0, 3600.0)))
    until(lambda: "there" in _log(watched, "a"), "the second process has its handler")
    local.stop(rig.world, watched.run)
    assert (watched.path / "done").exists()
    assert watched.left() == []


def test_a_vanished_run_directory_ends_the_run(rig: Rig) -> None:
    watched = rig.start(script(child("a", ("sleep", "3600"))))
    watched.event("ready")
    pids = [watched.pid(name) for name in ("a", "supervisor", "keeper")]
    shutil.rmtree(watched.path)
    until(lambda: not any(map(proc.alive, pids)), "all have ended")
    assert watched.left() == []
    assert not watched.path.exists()


def _log(watched: Watched, step: str) -> str:
    path = watched.path / "logs" / f"{step}.log"
    return path.read_text() if path.exists() else ""
