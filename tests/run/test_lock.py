"""Who holds a run, and that looking does not take it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.run import lock, proc

HOLD = "import sys, time\nfrom launcher.run import lock\nlock.take(sys.argv[1])\nprint(flush=True)\ntime.sleep(3600)"


def test_nobody(tmp_path: Path) -> None:
    run = str(tmp_path)
    assert not lock.held(run)
    assert lock.holder(run) is None
    (tmp_path / lock.FILE).write_bytes(lock.blank())
    assert not lock.held(run)
    assert lock.holder(run) is None


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b'{"pid": "x"}', b"\xff", b"3"])
def test_a_damaged_lock_names_nobody(tmp_path: Path, text: bytes) -> None:
    (tmp_path / lock.FILE).write_bytes(text)
    assert lock.holder(str(tmp_path)) is None


def test_taken_named_and_released_by_death_alone(tmp_path: Path) -> None:
    run = str(tmp_path)
    (tmp_path / lock.FILE).write_bytes(lock.blank())
    size = (tmp_path / lock.FILE).stat().st_size
    with subprocess.Popen([sys.executable, "-c", HOLD, run], stdout=subprocess.PIPE) as holding:
        assert holding.stdout is not None
        holding.stdout.readline()
        assert lock.held(run)
        found = lock.holder(run)
        assert found == lock.Holder(holding.pid, proc.born(holding.pid) or 0, os.uname().nodename)
        with pytest.raises(lock.Held, match=f"held by process {holding.pid} on"):
            lock.take(run, patience=0.0)
        assert (tmp_path / lock.FILE).stat().st_size == size
        holding.kill()
    assert not lock.held(run)
    assert lock.holder(run) == found
    os.close(lock.take(run))


def test_those_who_look_do_not_keep_it_from_being_taken(tmp_path: Path) -> None:
    run = str(tmp_path)
    first = lock.take(run)
    # A look is a shared lock for an instant: here the instant lasts.
    os.set_inheritable(first, True)
    words = ["sh", "-c", "sleep 0.2"]
    with subprocess.Popen(words, close_fds=False):
        os.close(first)
        assert lock.held(run)
        os.close(lock.take(run, patience=30.0))
