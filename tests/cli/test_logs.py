"""Logs as they are read while they grow."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from launcher.cli.guard import Usage
from launcher.cli.logs import Log, chosen
from launcher.execute.status import StepStatus


def test_lines_are_told_once_they_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    log = Log(path)
    assert list(log.lines()) == []
    path.write_bytes(b"one\ntw")
    assert list(log.lines()) == ["one"]
    for piece in (b"", b"o", b"\n\n\xff\nla", b"st"):
        with path.open("ab") as file:
            file.write(piece)
        found = list(log.lines())
        assert found == (["two", "", "\\xff"] if b"\n" in piece else [])
    assert list(log.rest()) == ["last"]
    assert list(log.rest()) == []


LAST = st.lists(st.sampled_from([b"", b"a", b"bc", b"x" * 40]), max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LAST, st.sampled_from([b"", b"end"]), st.integers(0, 14), st.integers(1, 50))
def test_last_lines(tmp_path: Path, whole: list[bytes], rest: bytes, last: int, block: int) -> None:
    """Whatever is read at a time."""
    path = tmp_path / "a.log"
    path.write_bytes(b"".join(line + b"\n" for line in whole) + rest)
    log = Log(path, block)
    lines = [line.decode() for line in whole]
    assert list(log.lines(last=last)) == lines[max(0, len(lines) - last) :]
    assert list(log.rest()) == ([rest.decode()] if rest else [])


def test_last_lines_of_what_was_not_started(tmp_path: Path) -> None:
    assert list(Log(tmp_path / "absent").lines(last=3)) == []


def test_what_there_is_has_a_name() -> None:
    """The launcher's own steps have no role."""
    steps = [StepStatus("worker-0", "worker", "running", "a.log"), StepStatus("launch.janitor", "", "running", "b.log")]
    with pytest.raises(Usage) as caught:
        chosen(steps, ["nobody"], "supervisor")
    assert caught.value.advice == "it has worker-0, worker, launch.janitor, supervisor"
