"""The state of a run from what its directory holds, whoever wrote it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from launcher.execute.journal import Contents, Run, create
from launcher.execute.status import Tail, status
from launcher.execute.world import Recording
from launcher.run import lock
from launcher.run.script import Child, Gate, Script

CHILDREN = (
    Child("worker", "worker", ("true",), gates=(Gate("tcp", "http://a:1"),)),
    Child("task", "setup", ("true",), lasting=False),
    Child("router", "router", ("true",), log="logs/other.log"),
)
BEGIN = {"event": "begin", "at": "2026-08-01", "url": "http://x:1"}
STARTS = [{"event": "start", "step": name, "pid": 7, "log": f"logs/{name}.log"} for name in ("worker", "task")]
OUTCOME = {
    "schema": 1,
    "state": "failed",
    "exit": 7,
    "cause": "c",
    "hint": "h",
    "first": {"step": "worker"},
    "ready_after": 1.0,
    "started": "s",
    "ended": "e",
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    world = Recording({"XDG_STATE_HOME": str(tmp_path.resolve())})
    return create(world, Contents("test", "", Script("test", ("run",), CHILDREN), {}))


def tell(run: Run, *events: Any) -> None:
    (run.path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


LIVE: list[tuple[list[dict[str, Any]], str]] = [
    ([], "starting"),
    ([BEGIN, *STARTS], "starting"),
    ([BEGIN, {"event": "phase", "phase": "gated"}], "gated"),
    ([BEGIN, {"event": "phase", "phase": "gated"}, {"event": "ready", "after": 2.0}], "ready"),
    ([BEGIN, {"event": "ready", "after": 2.0}, {"event": "stop"}, {"event": "exit", "step": "worker"}], "stopping"),
]


@pytest.mark.parametrize(("events", "state"), LIVE, ids=[case[1] for case in LIVE])
def test_live(run: Run, events: list[dict[str, Any]], state: str) -> None:
    tell(run, *events)
    handle = lock.take(str(run.path))
    found = status(run)
    os.close(handle)
    assert (found.live, found.state, found.exit) == (True, state, None)
    assert found.ready_after == (2.0 if {"event": "ready", "after": 2.0} in events else None)


def test_never_started(run: Run) -> None:
    assert (status(run).state, status(run).live, status(run).exit) == ("created", False, 1)


def test_lost(run: Run) -> None:
    os.close(lock.take(str(run.path)))
    tell(run, BEGIN)
    found = status(run)
    assert (found.state, found.exit, found.url, found.started) == ("lost", 1, "http://x:1", "2026-08-01")


def test_ended_without_an_outcome(run: Run) -> None:
    """The directory turned read-only: what had it open could still write."""
    os.close(lock.take(str(run.path)))
    first = {"step": "worker", "signal": 9}
    tell(run, BEGIN, {"event": "end", "at": "2026-08-02", "state": "failed", "exit": 7, "cause": "why", "first": first})
    found = status(run)
    assert (found.state, found.exit, found.ended, found.first) == ("failed", 7, "2026-08-02", first)
    assert found.cause == "why (and the outcome could not be written)"
    # As an earlier release wrote it.
    tell(run, BEGIN, {"event": "end", "state": "failed", "exit": 7})
    assert status(run).state == "lost"


def test_ended(run: Run) -> None:
    os.close(lock.take(str(run.path)))
    (run.path / "outcome.json").write_text(json.dumps(OUTCOME))
    found = status(run)
    assert {name: getattr(found, name) for name in OUTCOME if name != "schema"} == {
        name: value for name, value in OUTCOME.items() if name != "schema"
    }


def test_vanished(tmp_path: Path) -> None:
    found = status(Run(tmp_path / "gone"))
    assert (found.state, found.exit, found.cause, found.steps) == ("lost", 1, "the run directory has vanished", ())


def test_steps(run: Run) -> None:
    tell(
        run,
        *STARTS,
        {"event": "gate-open", "step": "worker"},
        {"event": "exit", "step": "task", "exit": 3},
        {"event": "unstartable", "step": "router"},
    )
    assert [(s.name, s.role, s.state, s.log, s.pid, s.exit) for s in status(run).steps] == [
        ("worker", "worker", "running", "logs/worker.log", 7, None),
        ("task", "setup", "ended", "logs/task.log", 7, 3),
        ("router", "router", "ended", "logs/other.log", None, None),
    ]
    tell(run, *STARTS)
    assert [s.state for s in status(run).steps] == ["gated", "running", "waiting"]


FOREIGN = [
    ("newer outcome", "outcome.json", '{"schema": 2, "state": "fine"}'),
    ("damaged outcome", "outcome.json", "{"),
    ("newer script", "script.json", '{"schema": 2}'),
    ("damaged script", "script.json", "\x00"),
    ("empty script", "script.json", ""),
]


@pytest.mark.parametrize(("name", "text"), [case[1:] for case in FOREIGN], ids=[case[0] for case in FOREIGN])
def test_of_another_version(run: Run, name: str, text: str) -> None:
    (run.path / name).write_text(text)
    found = status(run)
    assert (found.state, found.exit) == ("unknown", 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    name=st.sampled_from(["outcome.json", "events.jsonl", "script.json", "lock", "stop.json"]),
    content=st.binary(max_size=40)
    | st.recursive(st.none() | st.integers() | st.text(max_size=3), st.lists, max_leaves=3).map(
        lambda value: json.dumps(value).encode()
    ),
)
def test_garbage_raises_nothing(run: Run, name: str, content: bytes) -> None:
    before = (run.path / name).read_bytes() if (run.path / name).exists() else None
    (run.path / name).write_bytes(content)
    assert status(run).state in ("created", "unknown", "lost")
    if before is None:
        (run.path / name).unlink()
    else:
        (run.path / name).write_bytes(before)


def test_the_journal_is_read_as_it_grows(run: Run) -> None:
    tail = Tail(run)
    assert list(tail.read()) == []
    with (run.path / "events.jsonl").open("ab", buffering=0) as file:
        file.write(b'{"event": "a"}\n{"event": ')
        assert [event["event"] for event in tail.read()] == ["a"]
        file.write(b'"b"}\nno event\n{}\n[]\n\xff\n{"event": 3}\n{"event": "c"}')
        assert [event["event"] for event in tail.read()] == ["b"]
        file.write(b"\n")
        assert [event["event"] for event in tail.read()] == ["c"]
        assert list(tail.read()) == []
