"""An interrupt reaches whatever waits, in any thread, and takes along what was asked."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from launcher.execute import interrupt
from launcher.execute.world import Real
from launcher.run import proc
from tests.testbed.bed import until

WRAPPED = 'sleep 3600 & echo $! > "$0.part" && mv "$0.part" "$0"; wait'
"""As sites have it: a script around Slurm's program."""


@pytest.fixture(autouse=True)
def _over() -> Iterator[None]:
    yield
    interrupt.over()


def program(pid: Path) -> tuple[str, ...]:
    return ("sh", "-c", WRAPPED, str(pid))


def begun(pid: Path) -> int:
    return int(until(lambda: pid.read_text() if pid.exists() else None))


def told_when(there: Callable[[], object], tell: Callable[[], object] = interrupt.tell) -> threading.Thread:
    """A thread that interrupts once something is there."""

    def wait() -> None:
        until(lambda: there() or None)
        tell()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_program_that_was_asked_ends_whole(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    thread = told_when(pid.exists)
    with pytest.raises(KeyboardInterrupt):
        Real().run(program(pid))
    thread.join()
    until(lambda: not proc.alive(begun(pid)) or None)


def test_one_that_is_late_ends_whole(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    with pytest.raises(TimeoutError):
        Real(until=time.monotonic()).run(program(pid))
    until(lambda: not proc.alive(begun(pid)) or None)


def test_one_that_holds_something_goes_on(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    interrupt.tell()
    with (tmp_path / "lock").open("w") as lock, pytest.raises(KeyboardInterrupt):
        Real().run(program(pid), keep=(lock.fileno(),))
    assert proc.alive(begun(pid))
    os.kill(begun(pid), signal.SIGKILL)


def test_one_that_holds_something_and_answers_is_heard(tmp_path: Path) -> None:
    interrupt.tell()
    with (tmp_path / "lock").open("w") as lock:
        assert Real().run(("echo", "said"), keep=(lock.fileno(),)).out == "said\n"


def test_pauses_end() -> None:
    interrupt.tell()
    with pytest.raises(KeyboardInterrupt):
        Real().pause(3600)


def test_what_is_asked_abreast_ends_with_the_main_thread(tmp_path: Path) -> None:
    pids = [tmp_path / str(number) for number in range(2)]

    def interrupted() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    thread = told_when(lambda: all(pid.exists() for pid in pids), interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(interrupt.abreast(lambda pid: Real().run(program(pid)), pids, 2))
    thread.join()
    for pid in pids:
        until(lambda pid=pid: not proc.alive(begun(pid)) or None)  # type: ignore[misc]
    # What comes next is not interrupted.
    assert Real().run(("true",)).exit == 0


def test_answers_come_in_order_and_with_what_was_raised() -> None:
    assert list(interrupt.abreast(lambda word: Real().run(("echo", word)).out, ["a", "b"], 2)) == ["a\n", "b\n"]
    with pytest.raises(FileNotFoundError):
        list(interrupt.abreast(lambda word: subprocess.run([word]), ["/nonexistent"], 1))
