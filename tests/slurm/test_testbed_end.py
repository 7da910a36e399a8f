"""A testbed leaves nothing behind, however it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.testbed import guard
from tests.testbed.bed import until
from tests.testbed.layout import Layout
from tests.testbed.place import PROJECT
from tests.testbed.slurm import PARENT, PREFIX, bed

SMALL = Layout(nodes=1, networks=("eth0",))
OTHER = """\
import sys
from tests.testbed.layout import Layout
from tests.testbed.slurm import bed
with bed(Layout(nodes=1)) as running:
    running.submit("#!/bin/sh\\nexec sleep 600")
    print(running.root, flush=True)
    sys.stdin.read()
"""


@contextmanager
def other() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A testbed in a process of its own, and its folder."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", OTHER], cwd=PROJECT, text=True, **pipes) as process:  # type: ignore[call-overload]
        root = Path(process.stdout.readline().strip())
        yield process, root


def mounts(root: Path) -> list[str]:
    return [line for line in Path("/proc/mounts").read_text().splitlines() if str(root) in line]


def test_its_end_leaves_nothing() -> None:
    interfaces = {path.name for path in Path("/sys/class/net").iterdir()}
    with bed(SMALL) as running:
        root = running.root
        running.submit("#!/bin/sh\nsleep 600 & sleep 600\n")
        until(lambda: running.processes("alice") or None)
        assert (mounts(root), {path.name for path in Path("/sys/class/net").iterdir()}) == ([], interfaces)
    assert (list(guard.members(root)), root.exists(), mounts(root)) == ([], False, [])


def test_killing_its_user_leaves_nothing() -> None:
    with other() as (process, root):
        process.kill()
    until(lambda: not root.exists() or None)
    assert list(guard.members(root)) == []


def test_a_later_start_clears_up_after_a_killed_guard() -> None:
    with other() as (process, root):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        (keeper,) = [pid for pid in children if guard.__file__.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(int(keeper), signal.SIGKILL)
        process.kill()
    assert root.exists()

    def swept() -> bool | None:
        # The lock is free once the killed ones are really gone.
        guard.sweep(PARENT, PREFIX + "*")
        return not root.exists() or None

    until(swept)
    assert list(guard.members(root)) == []
