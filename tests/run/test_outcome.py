"""Outcomes and hints, as tables."""

import json
from pathlib import Path
from typing import Any

import pytest

from launcher.run import files, hints, outcome
from launcher.run.outcome import Verdict, broken, stopped
from launcher.run.words import UNFINISHED

LEFT = "the supervisor left no outcome: job 7 ended as FAILED"
HINTS = [
    (f"{LEFT} (exit code 126): sh: 3: exec: /opt/python3: Permission denied", "`python` of the cluster file"),
    (f"{LEFT} (0:53, a node could not open its output file or working directory)", "`runs` of the cluster file"),
    (f"{LEFT} (exit code 1)", None),
    ("Address already in use (os error 98)", "port"),
    ("port 8000 of node1 is in use; port 6100 of node1 is in use", "ports.shift"),
    ("port 8000 of node1 is in use by the run `small-1`", "`launch down RUN`"),
    ("`/models/m` does not exist on node1, node2", "do not see that path"),
    ("OSError: [Errno 98] error while attempting to bind on address", "port"),
    ("error: externally-managed-environment", "PIP_BREAK_SYSTEM_PACKAGES"),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", "GPU's memory"),
    ("CUDA driver version is insufficient for CUDA runtime version", "driver"),
    ("ModuleNotFoundError: No module named 'vllm'", "Python package"),
    ("OSError: [Errno 8] Exec format error: './smg'", "architecture"),
    ("write: No space left on device", "full"),
    ("OSError: [Errno 30] Read-only file system: '/home/lab/.local'", "read-only"),
    ("401 Client Error: Unauthorized for url", "env_from"),
    ("PermissionError: [Errno 13] Permission denied: '/data'", "owner and mode"),
    ("setup.sh: line 2: cmake: command not found", "PATH"),
    ("No such file or directory: 'smg'", "PATH"),
    ("OSError: [Errno 24] Too many open files", "ulimit"),
    (UNFINISHED % "cluster", "`[setup]` of the cluster file"),
    (UNFINISHED % "role", "`setup` of the role"),
    ("No such file or directory: '/data/model'", None),
    ("all is well", None),
]


@pytest.mark.parametrize(("line", "word"), HINTS)
def test_hint(line: str, word: str | None) -> None:
    found = hints.hint(["something else", line, "Too many open files"] if word else [line])
    assert found is None if word is None else word in str(found)


def test_every_hint_is_tried() -> None:
    found = {hints.hint([line]) for line, word in HINTS if word}
    assert found == {advice for _, advice in hints.HINTS} - {advice for _, advice in hints.CONTAINERS}


@pytest.mark.parametrize(
    ("by", "state", "code"),
    [
        ("down", "stopped", 0),
        ("SIGINT", "interrupted", 130),
        ("SIGTERM", "interrupted", 143),
        ("SIGHUP", "interrupted", 143),
        ("something of a later version", "interrupted", 143),
    ],
)
def test_stops(by: str, state: str, code: int) -> None:
    assert (stopped(by).state, stopped(by).exit) == (state, code)


@pytest.mark.parametrize(
    ("status", "how", "told"),
    [
        (0, {"exit": 0}, "ended with exit code 0"),
        (256, {"exit": 1}, "ended with exit code 1"),
        (9, {"signal": 9}, "was killed by signal 9 (SIGKILL)"),
        (0x86, {"signal": 6}, "was killed by signal 6 (SIGABRT)"),
        (50, {"signal": 50}, "was killed by signal 50"),
    ],
)
def test_wait_statuses(status: int, how: dict[str, int], told: str) -> None:
    assert outcome.ending(status) == how
    assert outcome.told(how) == told


TIMES = {"ready_after": 1.5, "started": "a", "ended": "b"}


def test_composed(tmp_path: Path) -> None:
    first = {"step": "x", "signal": 9, "first_error": None, "last_lines": []}
    found = outcome.compose(Verdict("failed", 7, "c", first), TIMES, str(tmp_path), [3])
    assert found == {
        "schema": 1,
        "state": "failed",
        "exit": 7,
        "cause": "c",
        "by": "",
        "first": first,
        "ready_after": 1.5,
        "started": "a",
        "ended": "b",
        "hint": hints.KILLED,
        "left": [3],
    }


def test_the_first_error_decides_the_hint(tmp_path: Path) -> None:
    first = {"first_error": "Exec format error", "last_lines": ["Permission denied"]}
    found = outcome.compose(Verdict("failed", 7, "Address already in use", first), TIMES, str(tmp_path))
    assert "architecture" in found["hint"]
    assert outcome.compose(stopped("down"), TIMES, str(tmp_path))["hint"] is None


def test_written_into_what_was_kept(tmp_path: Path) -> None:
    run = str(tmp_path)
    files.write_all([next(files.reserved(run))])
    number = (tmp_path / files.OUTCOME_RESERVE).stat().st_ino
    found = outcome.compose(broken("x"), TIMES, run)
    outcome.write(run, found)
    assert (tmp_path / files.OUTCOME).stat().st_ino == number
    assert outcome.read(run) == found
    assert list(tmp_path.iterdir()) == [tmp_path / files.OUTCOME]
    outcome.write(run, {**found, "cause": "y"})
    assert (outcome.read(run) or {})["cause"] == "y"


def test_a_long_story_is_cut_to_what_was_kept(tmp_path: Path) -> None:
    first = {"step": "x", "first_error": "e", "last_lines": ["\U0001f600" * 400] * 20}
    outcome.write(str(tmp_path), outcome.compose(Verdict("failed", 7, "c", first), TIMES, str(tmp_path)))
    assert (tmp_path / files.OUTCOME).stat().st_size <= files.OUTCOME_BYTES
    assert (outcome.read(str(tmp_path)) or {})["first"] == {**first, "last_lines": []}


@pytest.mark.parametrize("text", [None, "", "{", "[]", "3", '{"schema": 2}', '{"exit": 0}'])
def test_what_is_no_outcome(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / files.OUTCOME).write_text(text)
    assert outcome.read(str(tmp_path)) is None


@pytest.mark.parametrize(("content", "by"), [({"by": "down"}, "down"), ({}, None), ([], None), ("{", None)])
def test_who_asked(tmp_path: Path, content: Any, by: str | None) -> None:
    assert outcome.asked(str(tmp_path)) is None
    (tmp_path / files.STOP).write_text(json.dumps(content))
    assert outcome.asked(str(tmp_path)) == by
