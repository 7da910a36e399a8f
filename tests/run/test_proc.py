"""Processes as /proc shows them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from launcher.run import proc

NAMED = "import ctypes, time\nctypes.CDLL(None).prctl(15, b') R 1 (x', 0, 0, 0)\nprint(flush=True)\ntime.sleep(3600)"


@contextmanager
def running(*words: str, wait: bool = False, **more: object) -> Iterator[int]:
    with subprocess.Popen(words, stdout=subprocess.PIPE, **more) as process:  # type: ignore[call-overload]
        try:
            if wait:
                process.stdout.readline()
            yield process.pid
        finally:
            process.kill()


def test_ourselves() -> None:
    found = proc.stat(os.getpid())
    assert found is not None
    assert found[:4] == (os.getpid(), os.getppid(), os.getpgid(0), os.getsid(0))
    assert proc.alive(os.getpid(), found.born)
    assert not proc.alive(os.getpid(), found.born + 1)
    assert found in proc.everyone()
    assert {os.getpid(), os.getppid()} <= proc.lineage(os.getpid())


def test_a_name_may_hold_brackets() -> None:
    with running(sys.executable, "-c", NAMED, wait=True, start_new_session=True) as pid:
        found = proc.stat(pid)
        assert found is not None
        assert found[:4] == (pid, os.getpid(), pid, pid)


def test_nobody() -> None:
    assert proc.stat(2**22 + 1) is None
    assert proc.born(2**22 + 1) is None
    assert not proc.alive(2**22 + 1)
    assert proc.lineage(2**22 + 1) == {2**22 + 1}
    proc.send(2**22 + 1, signal.SIGTERM)
    proc.send_group(2**22 + 1, signal.SIGTERM)
    assert not proc.populated(2**22 + 1)


def test_a_zombie_is_not_alive() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    try:
        found = proc.stat(pid)
        assert found is not None
        assert found.zombie
        assert not proc.alive(pid)
        assert pid not in [below.pid for below in proc.descendants(os.getpid())]
    finally:
        os.waitpid(pid, 0)


def test_descendants_in_any_session() -> None:
    script = "setsid sleep 3600 & sleep 3600 & echo; wait"
    with running("sh", "-c", script, wait=True, start_new_session=True) as pid:
        found = [below.pid for below in proc.descendants(pid)]
        assert pid in [below.pid for below in proc.descendants(os.getpid())]
        assert len(found) == 2
        assert proc.populated(pid)
        for sleeping in found:
            os.kill(sleeping, signal.SIGKILL)


@pytest.mark.parametrize("what", [proc.adopt_orphans, lambda: proc.signal_on_parents_death(signal.SIGTERM)])
def test_requests_to_the_kernel(what: object) -> None:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            what()  # type: ignore[operator]
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
