"""Starting, watching and stopping, as far as a world without processes shows it; real ones are in tests/run."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.execute import local
from launcher.execute.journal import Contents, Run, create
from launcher.execute.world import Ran, Real, Recording
from launcher.run import lock
from launcher.run.script import Budgets, Child, Script
from launcher.text.diagnostic import Refused

CHILD = Child("a", "a", ("true",), env_from=("TOKEN", "ABSENT"))
SCRIPT = Script(
    "test", ("run", "ip0", "host1", "python", "path"), (CHILD,), budgets=Budgets(stop=7.0), inherit=("PATH", "LC_*")
)
ENVIRON = {"PATH": "/bin", "LC_ALL": "C", "SECRET": "s", "TOKEN": "t", "LAUNCH_RUN": "other"}


@pytest.fixture
def world(tmp_path: Path) -> Recording:
    return Recording({**ENVIRON, "XDG_STATE_HOME": str(tmp_path.resolve())}, {(sys.executable,): Ran(0)})


@pytest.fixture
def run(world: Recording) -> Run:
    return create(world, Contents("test", "", SCRIPT, {}))


@pytest.fixture
def held(run: Run) -> Iterator[int]:
    """The run's lock, as held by a keeper: this process."""
    handle = lock.take(str(run.path))
    yield os.getpid()
    os.close(handle)


def test_slots_are_those_the_script_names(world: Recording) -> None:
    assert local.slots(world, SCRIPT) == {
        "ip0": "127.0.0.1",
        "host1": "127.0.0.2",
        "python": sys.executable,
        "path": "/bin",
    }
    assert local.slots(world, Script("test", ("run",), ())) == {}


def test_starting(world: Recording, run: Run) -> None:
    local.start(world, run, SCRIPT)
    words = (sys.executable, "-I", f"{run.path}/run.pyz", "--detach", str(run.path))
    env = {"PATH": "/bin", "LC_ALL": "C", "TOKEN": "t", "LAUNCH_RUN": str(run.path)}
    assert world.calls == [("run", words, env)]


@pytest.mark.parametrize(
    ("ran", "message"),
    [
        (Ran(1, "", "some noise\nheld by process 3 on x\n"), "the supervisor did not start: held by process 3 on x"),
        (Ran(-9), "the supervisor did not start: exit code -9"),
    ],
)
def test_a_start_that_fails_is_refused(world: Recording, run: Run, ran: Ran, message: str) -> None:
    world.answers = {(sys.executable,): ran}
    with pytest.raises(Refused) as raised:
        local.start(world, run, SCRIPT)
    [finding] = raised.value.diagnostics
    assert (finding.exit, finding.message) == (1, message)


def test_a_run_that_is_over_is_only_swept(world: Recording, run: Run) -> None:
    local.stop(world, run)
    assert world.calls == [("sweep", run.path)]
    assert not (run.path / "stop.json").exists()


def test_a_run_that_hangs_is_told_again_and_then_killed(world: Recording, run: Run, held: int) -> None:
    world.pids = frozenset({held, 77})
    (run.path / "events.jsonl").write_text('{"event": "begin", "pid": 77, "born": 1}\n')
    local.stop(world, run)
    assert world.calls == [
        ("signal", held, signal.SIGTERM),
        ("signal", held, signal.SIGTERM),
        ("signal", 77, signal.SIGKILL),
        ("signal", held, signal.SIGKILL),
        ("sweep", run.path),
    ]
    assert (run.path / "stop.json").read_text() == '{"by": "down"}\n'
    # Its own bound and a margin.
    assert world.clock == pytest.approx(37.0, abs=0.1)


def test_a_run_that_heard_is_not_told_again(world: Recording, run: Run, held: int) -> None:
    world.pids = frozenset({held})
    (run.path / "events.jsonl").write_text('{"event": "stop"}\n')
    local.stop(world, run)
    assert world.calls.count(("signal", held, signal.SIGTERM)) == 1


def test_a_process_with_the_number_of_a_dead_keeper_is_not_signalled(world: Recording, run: Run, held: int) -> None:
    local.stop(world, run)
    assert world.calls == [("sweep", run.path)]


def test_a_run_on_another_machine_is_left_alone(world: Recording, run: Run, held: int) -> None:
    text = (run.path / "lock").read_text().replace(os.uname().nodename, "elsewhere")
    (run.path / "lock").write_text(text)
    with pytest.raises(Refused) as raised:
        local.stop(world, run)
    assert raised.value.diagnostics[0].message == f"`{run.name}` runs on `elsewhere`"
    assert world.calls == []


def test_what_would_not_die_is_named(run: Run) -> None:
    class Haunted(Recording):
        def sweep(self, run: Path) -> list[int]:
            return [3, 4]

    with pytest.raises(Refused) as raised:
        local.stop(Haunted(), run)
    assert raised.value.diagnostics[0].message == "processes that cannot be killed: 3, 4"


class TestReal:
    """The real world, where it can be asked without consequences."""

    def test_running(self) -> None:
        world = Real()
        code = "import os, sys; print(sorted(os.environ), sys.stdin.read()); print('e', file=sys.stderr); sys.exit(3)"
        words = (sys.executable, "-I", "-c", code)
        assert world.run(words, {"A": "b", "LC_ALL": "C.UTF-8"}) == Ran(3, "['A', 'LC_ALL'] \n", "e\n")

    def test_what_cannot_be_run(self) -> None:
        with pytest.raises(FileNotFoundError):
            Real().run(("no-such-program",))
        with pytest.raises(TimeoutError, match=r"sleep did not end within 0\.05 s"):
            Real().run(("sleep", "3600"), patience=0.05)

    def test_what_is_not_waited_for_past_a_moment(self) -> None:
        world = Real(until=time.monotonic() - 1)
        assert world.run(("true",)) == Ran(0)
        with pytest.raises(TimeoutError, match="sleep did not end within 2 s"):
            world.run(("sleep", "3600"))

    def test_clocks(self) -> None:
        world = Real()
        before = (world.now(), world.monotonic())
        world.pause(0.01)
        assert world.now() > before[0]
        assert world.monotonic() >= before[1] + 0.01

    def test_processes(self) -> None:
        world = Real()
        with subprocess.Popen(["sleep", "3600"]) as process:
            assert world.alive(process.pid)
            assert not world.alive(process.pid, 1)
            world.signal(process.pid, signal.SIGKILL)
        assert not world.alive(process.pid)

    def test_sweeping(self, tmp_path: Path) -> None:
        assert Real().sweep(tmp_path) == []

    def test_environment(self) -> None:
        assert Real().environ is os.environ
        assert Real({"A": "b"}).environ == {"A": "b"}


def test_recording_answers_with_the_longest_match() -> None:
    world = Recording(answers={("a",): Ran(1), ("a", "b"): Ran(2)})
    assert [world.run(words).exit for words in (("a",), ("a", "b", "c"), ("a", "c"), ("b",))] == [1, 2, 1, 127]
    assert world.calls[0] == ("run", ("a",), None)
    assert (world.alive(1), world.now()) == (False, 0.0)
