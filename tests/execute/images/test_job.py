"""A program that bakes on this machine, and takes longer than it may."""

from pathlib import Path

import pytest

from launcher.execute.images import job
from launcher.execute.images.failure import Failure

WAITS = "trap 'echo ended gently; : >gone; exit 3' TERM; echo begun; until [ -e never ]; do sleep 0.05; done"


def test_it_is_ended_gently_after_a_while(tmp_path: Path) -> None:
    heard: list[str] = []
    words = ["sh", "-c", f"cd {tmp_path}; {WAITS}"]
    with pytest.raises(Failure, match="has not ended after 00:00:01, and was ended") as caught:
        job.run(words, {b"PATH": b"/usr/bin:/bin"}, heard.append, lambda: None, 0.5)
    assert (caught.value.kind, "--timeout" in (caught.value.advice or "")) == ("faulty", True)
    assert (heard[0], heard[-1]) == ("begun", "ended gently")
    assert (tmp_path / "gone").exists()


@pytest.mark.parametrize("limit", [None, 600.0])
def test_one_in_time_is_left_alone(limit: float | None) -> None:
    ended = job.run(["sh", "-c", "echo a; exit 3"], {b"PATH": b"/usr/bin:/bin"}, lambda line: None, lambda: None, limit)
    assert (ended.exit, ended.lines) == (3, ("a",))
