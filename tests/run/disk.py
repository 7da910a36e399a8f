"""Run by `test_disk.py` in a mount namespace of its own: a state directory that is full or read-only.

    python -m tests.run.disk CASE DIRECTORY

Prints what happened as one JSON object.
"""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from launcher.execute import local
from launcher.run.script import Script
from launcher.text.diagnostic import Refused
from tests.run.rig import Rig, Watched, child, script, traces

ROOM = "512k"


def mount(where: Path, size: str = ROOM) -> Rig:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(where)], check=True)
    return Rig(where)


def lock_up(where: Path) -> None:
    subprocess.run(["mount", "-o", "remount,bind,ro", str(where)], check=True)


def fill(where: Path) -> None:
    """Takes every byte that is left."""
    handle = os.open(where / "ballast", os.O_WRONLY | os.O_CREAT)
    for size in (65536, 4096, 1):
        try:
            while True:
                os.write(handle, b"x" * size)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
    os.close(handle)


def steps() -> Script:
    """Once `opened` exists a task ends, and more steps start than one page of the journal can tell of."""
    task = child("task", ("sh", "-c", "while ! test -e opened; do sleep 0.02; done"), lasting=False)
    worker = child("worker", ("sleep", "3600"))
    return script(worker, task, *(child(f"late{n}", ("sleep", "3600"), after=("task",)) for n in range(40)))


def full_before(where: Path) -> Watched:
    return mount(where, "64k").start(steps())


def read_only_before(where: Path) -> Watched:
    rig = mount(where)
    lock_up(where)
    return rig.start(steps())


def read_only_at_start(where: Path) -> Watched:
    rig = mount(where)
    run = rig.create(steps())
    lock_up(where)
    local.start(rig.world, run, steps())
    return Watched(rig.world, run)


def full_at_start(where: Path) -> Watched:
    rig = mount(where)
    run = rig.create(steps())
    fill(where)
    local.start(rig.world, run, steps())
    return Watched(rig.world, run)


def full_while_starting(where: Path) -> Watched:
    rig = mount(where)
    watched = rig.start(steps())
    watched.event("start", "task")
    (watched.path / "opened.part").touch()
    fill(where)
    (watched.path / "opened.part").rename(watched.path / "opened")
    return watched


def full_and_killed(where: Path) -> Watched:
    rig = mount(where)
    watched = rig.start(script(child("worker", ("sleep", "3600"))))
    watched.event("ready")
    fill(where)
    os.kill(watched.pid("worker"), signal.SIGKILL)
    return watched


def full_and_stopped(where: Path) -> Watched:
    rig = mount(where)
    watched = rig.start(script(child("worker", ("sleep", "3600"))))
    watched.event("ready")
    fill(where)
    local.stop(rig.world, watched.run)
    return watched


CASES: Mapping[str, Callable[[Path], Watched]] = {
    case.__name__: case
    for case in (
        full_before,
        read_only_before,
        read_only_at_start,
        full_at_start,
        full_while_starting,
        full_and_killed,
        full_and_stopped,
    )
}


def main(case: str, where: str) -> dict[str, Any]:
    try:
        watched = CASES[case](Path(where))
    except Refused as refused:
        [finding] = refused.diagnostics
        listed = [path.name for path in Path(where).glob("launch/runs/*")] if case == "full_before" else []
        return {"refused": finding.message, "exit": finding.exit, "left": [*left(Path(where)), *listed]}
    found = watched.ended()
    return {
        "state": found.state,
        "exit": found.exit,
        "cause": found.cause,
        "hint": found.hint,
        "first": found.first and found.first["step"],
        "left": left(Path(where)),
    }


def left(where: Path) -> list[str]:
    """Traces of every run below the directory."""
    with suppress(FileNotFoundError):
        return [text for run in (where / "launch" / "runs").iterdir() for text in traces(run)]
    return []


if __name__ == "__main__":
    json.dump(main(*sys.argv[1:]), sys.stdout)
