"""A run brought into a phase, and everything that may happen to it there: what is done, and what must come of it.

    python -m tests.end.faults PHASE FAULT HOME

does it on a file system of its own below HOME, for those faults that are a disk's.
"""

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launcher.execute.journal import Run
from launcher.execute.status import status as status_of
from launcher.run import lock, proc
from tests.cli.program import LAUNCH
from tests.end.block import block, listening
from tests.end.deployment import Deployment, ended, until
from tests.run.rig import traces

PORTS = (6100, 8000, 29000)

RECIPE = """\
schema = 1
name = "faulty"
[model]
served_name = "tiny"
[roles.worker]
manifest = "sim"
[router]
kind = "smg"
"""
BENCHMARK = f'{RECIPE}[benchmark]\nmanifest = "load"\n'
LOAD = """\
schema = 1
name = "load"
about = "a benchmark without end"
kind = "benchmark"
[program]
command = ["sleep", "3600"]
"""

PHASES: Mapping[str, tuple[str, tuple[str, ...], str, Mapping[str, str]]] = {
    "starting": (RECIPE, ("roles.worker.flags.startup-delay=300",), "start", {"step": "worker-0"}),
    "gated": (RECIPE, ("roles.worker.flags.error-after-requests=0",), "gate-shut", {"step": ""}),
    "ready": (RECIPE, (), "ready", {}),
    "benchmark": (BENCHMARK, (), "start", {"step": "benchmark"}),
}
"""Phase → the recipe, what keeps its run in the phase, and the event that says that it is there."""


SHELL = ("sh", "-c")
SURROUNDINGS: Mapping[str, tuple[tuple[str, ...], Mapping[str, str | None]]] = {
    "LANG=C": ((), {"LANG": "C", "LC_ALL": "C"}),
    "HOME-unset": ((), {"HOME": None}),
    "umask-077": ((*SHELL, 'umask 077; exec "$@"', "sh"), {}),
    "stdin-closed": ((*SHELL, 'exec "$@" <&-', "sh"), {}),
}
"""Where `up` may be started: the words before its own, and its environment."""

USUAL: tuple[tuple[str, ...], Mapping[str, str | None]] = ((), {})


@dataclass(frozen=True)
class Scene:
    """A run in its phase: the `up` that follows it, and the other end of the terminal that it is on."""

    deployment: Deployment
    up: "subprocess.Popen[str]"
    terminal: int
    run: Path

    def kill(self, who: str, number: int = signal.SIGKILL) -> None:
        os.kill(self.deployment.pid(who), number)


@dataclass(frozen=True)
class Fault:
    """`strike` happens to the run. Wanted are the exit code of `up`, and of the run the state and a part of its cause
    (`state` None: nothing is left that could have an outcome). `first` is the step to blame, with how it ended.
    """

    strike: Callable[[Scene], None]
    status: int
    state: str | None
    cause: str
    first: Mapping[str, Any] | None = None
    phases: tuple[str, ...] = tuple(PHASES)
    exit: int | None = None


def killed(step: str, *phases: str) -> Fault:
    said = f"step `{step}` was killed by signal 9 (SIGKILL), "
    return Fault(
        lambda scene: scene.kill(step), 7, "failed", said, {"step": step, "signal": 9}, phases or tuple(PHASES)
    )


def signalled(number: signal.Signals, status: int, cause: str) -> Fault:
    return Fault(lambda scene: scene.up.send_signal(number), status, "interrupted", cause)


def working(deployment: Deployment) -> None:
    """Waits until the worker's own program runs: a process that was started may not even have read it yet."""
    handles = re.compile(r"^SigCgt:.*[4-7c-f]...$", re.MULTILINE)  # the 15th bit
    status = Path(f"/proc/{deployment.pid('worker-0')}/status")
    until(lambda: handles.search(status.read_text()), "the worker handles TERM")


def leave(scene: Scene) -> None:
    """The worker ends by itself and is content with that."""
    scene.kill("worker-0", signal.SIGTERM)


def hang_up(scene: Scene) -> None:
    os.close(scene.terminal)


def down(scene: Scene) -> None:
    assert scene.deployment("down", scene.run.name).returncode == 0


def two_downs(scene: Scene) -> None:
    downs = [scene.deployment.start("down", "last") for _ in range(2)]
    for code, out, err in map(ended, downs):
        assert (code, out) == (0, "")
        assert "stopped by `down`" in err
    assert [event["event"] for event in scene.deployment.events()].count("end") == 1


def unfollowed(scene: Scene) -> None:
    """`up` is killed: its run goes on, and `down` ends it."""
    scene.up.kill()
    scene.up.wait()
    assert proc.alive(scene.deployment.pid("keeper"))
    down(scene)


def unread(scene: Scene) -> None:
    """Nobody reads what `up` says any more; that is noticed by the next word of it."""
    for stream in (scene.up.stdout, scene.up.stderr):
        assert stream is not None
        stream.close()
    scene.up.stdout = scene.up.stderr = None
    down(scene)


def vanish(scene: Scene) -> None:
    def gone() -> bool:
        # Its journal is still written to meanwhile.
        shutil.rmtree(scene.run, ignore_errors=True)
        return not scene.run.exists()

    until(gone, "the directory is gone")


def fill(scene: Scene) -> None:
    """Takes every byte that is left and kills a worker, before the supervisor has anything else to write."""
    scene.kill("supervisor", signal.SIGSTOP)
    handle = os.open(scene.deployment.home / "ballast", os.O_WRONLY | os.O_CREAT)
    for size in (1 << 20, 4096, 1):
        with suppress(OSError):
            while True:
                os.write(handle, b"x" * size)
    os.close(handle)
    scene.kill("worker-0")
    scene.kill("supervisor", signal.SIGCONT)


def lock_up(scene: Scene) -> None:
    """Nothing can be opened for writing any more; what is open already stays so."""
    place = str(scene.run)
    subprocess.run(["mount", "--bind", place, place], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", place], check=True)
    scene.kill("worker-0")


FAULTS: Mapping[str, Fault] = {
    "worker-killed": killed("worker-0"),
    "router-killed": killed("router", "gated", "ready", "benchmark"),
    "benchmark-killed": killed("benchmark", "benchmark"),
    "worker-exits-0": Fault(
        leave,
        7,
        "failed",
        "step `worker-0` ended with exit code 0 although it should last",
        {"step": "worker-0", "exit": 0},
    ),
    "supervisor-killed": Fault(
        lambda scene: scene.kill("supervisor"), 1, "broken", "the supervisor was killed by signal 9 (SIGKILL)"
    ),
    "keeper-killed": Fault(lambda scene: scene.kill("keeper"), 1, "broken", "the keeper was killed"),
    "TERM": signalled(signal.SIGTERM, 143, "terminated (SIGTERM)"),
    "INT": signalled(signal.SIGINT, 130, "interrupted (SIGINT)"),
    "HUP": signalled(signal.SIGHUP, 143, "the terminal hung up (SIGHUP)"),
    "terminal-hangs-up": Fault(hang_up, 143, "interrupted", "the terminal hung up (SIGHUP)"),
    "up-killed": Fault(unfollowed, -9, "stopped", "stopped by `down`", exit=0),
    "nobody-reads": Fault(unread, 0, "stopped", "stopped by `down`"),
    "two-downs": Fault(two_downs, 0, "stopped", "stopped by `down`"),
    "run-directory-vanishes": Fault(vanish, 1, None, "the run directory has vanished"),
}

DISK: Mapping[str, Fault] = {
    "full": Fault(fill, 7, "failed", "step `worker-0` was killed by", {"step": "worker-0", "signal": 9}),
    "read-only": Fault(lock_up, 7, "failed", "step `worker-0` was killed by", {"step": "worker-0", "signal": 9}),
}
"""These need a file system of their own."""


def begin(
    deployment: Deployment, phase: str, surroundings: tuple[tuple[str, ...], Mapping[str, str | None]] = USUAL
) -> Scene:
    """A run in that phase, followed by an `up` on a terminal of its own."""
    before, env = surroundings
    recipe, sets, event, facts = PHASES[phase]
    deployment.recipe(LOAD, "manifests/load.toml")
    words = ["up", deployment.recipe(recipe), *deployment.ports, *(word for each in sets for word in ("--set", each))]
    terminal, slave = pty.openpty()
    up = subprocess.Popen(
        ["setsid", "--ctty", *before, *LAUNCH, *words],
        cwd=deployment.home,
        env=deployment.env(env),
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(slave)
    deployment.started.append(up)
    deployment.until(event, **facts)
    working(deployment)
    assert up.stdout is not None
    if phase in {"ready", "benchmark"}:
        # What is said to the reader is said before anything happens.
        until(lambda: up.stdout and up.stdout.readline().startswith("curl "), "the last word of the welcome")
    return Scene(deployment, up, terminal, deployment.run)


def _kept(run: Path) -> bool:
    """Whether the keeper lives; with the run directory goes the lock that tells."""
    return lock.held(str(run)) if run.exists() else traces(run) != []


def judge(scene: Scene, phase: str, fault: Fault) -> None:
    """Does it and asserts what is wanted of it."""
    fault.strike(scene)
    status, out, err = ended(scene.up) if scene.up.stdout else (scene.up.wait(60), "", "")
    until(lambda: not _kept(scene.run), "the keeper ends")
    assert traces(scene.run) == []
    assert listening(base + scene.deployment.shift for base in PORTS) == []
    assert "Traceback" not in err
    assert status == fault.status, err
    assert out == ""
    found = status_of(Run(scene.run))
    assert found.state == (fault.state or "lost")
    assert found.exit == (fault.status if fault.exit is None else fault.exit)
    assert fault.cause in str(found.cause)
    assert fault.state is None or scene.up.stdout is None or fault.cause in err or status < 0
    blamed = {"phase": phase, **fault.first} if fault.first else {}
    assert blamed.items() <= (found.first or {}).items()


def alone(phase: str, name: str, home: Path) -> None:
    """The disk's fault `name` in the phase, on a file system of its own; mounts, so that a namespace is needed."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(home)], check=True)
    with block() as shift:
        deployment = Deployment(home, shift)
        try:
            judge(begin(deployment, phase), phase, DISK[name])
        finally:
            deployment.close()


if __name__ == "__main__":
    alone(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
