"""What belongs to a run directory, and what only looks at it."""

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from launcher.run import proc, sweep

CLEARED = (
    "import os, sys\n"
    "if sys.argv[1]: os.chdir(sys.argv[1])\n"
    "open(sys.argv[2], 'a')\n"
    "os.execve(sys.executable, ['x', '-I', '-S', '-c', 'import time; print(flush=True); time.sleep(3600)'], {})"
)
SLEEP = "import sys, time; print(flush=True); time.sleep(3600)"


class Started(ExitStack):
    """Processes of one test; each has said that it runs."""

    def start(self, words: Sequence[str], **more: object) -> int:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True, **more)  # type: ignore[call-overload]
        self.enter_context(process)
        self.callback(process.kill)
        process.stdout.readline()
        return int(process.pid)


@pytest.fixture
def started() -> Iterator[Started]:
    with Started() as stack:
        yield stack


def python(code: str, *words: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code, *words]


def test_environment(tmp_path: Path, started: Started) -> None:
    run = str(tmp_path)
    ours = started.start(python(SLEEP), env={"LAUNCH_RUN": run})
    for other in (f"{run}x", f"{run}/x", ""):
        started.start(python(SLEEP), env={"LAUNCH_RUN": other, "X": f"LAUNCH_RUN={run}"})
    assert sweep.leftovers(run) == [ours]


def test_several_runs_at_once(tmp_path: Path, started: Started) -> None:
    runs = [str(tmp_path / name) for name in ("a", "b", "c")]
    (tmp_path / "b").mkdir()
    named = started.start(python(SLEEP), env={"LAUNCH_RUN": runs[0]})
    with (tmp_path / "b" / "log").open("ab") as log:
        writing = started.start(python(SLEEP), env={"A": "b"}, stderr=log)
    assert sweep.of_each(runs) == {runs[0]: [named], runs[1]: [writing], runs[2]: []}
    assert sweep.of_each([]) == {}


def test_files_open_for_writing(tmp_path: Path, started: Started) -> None:
    log = tmp_path / "logs"
    log.write_text("")
    with log.open("ab") as writing, log.open("rb") as reading:
        ours = started.start(python(SLEEP), env={"A": "b"}, stderr=writing)
        started.start(python(SLEEP), env={"A": "b"}, stdin=reading)
    assert sweep.leftovers(str(tmp_path)) == [ours]


def test_working_directory_counts_where_the_environment_is_gone(tmp_path: Path, started: Started) -> None:
    ours = started.start(python(CLEARED, str(tmp_path), os.devnull))
    started.start(python(SLEEP), cwd=tmp_path, env={"A": "b"})
    started.start(python(CLEARED, "", os.devnull), cwd="/")
    assert sweep.leftovers(str(tmp_path)) == [ours]


def test_sessions_of_the_journal(tmp_path: Path, started: Started) -> None:
    ours, reused = (started.start(python(SLEEP), env={"A": "b"}) for _ in range(2))
    told = [
        {"event": "start", "pid": ours, "born": proc.born(ours)},
        # The number was taken by somebody else since.
        {"event": "start", "pid": reused, "born": (proc.born(reused) or 0) - 1},
        {"event": "start"},
        {"event": "exit", "pid": reused, "born": proc.born(reused)},
        [],
    ]
    text = "\n".join(map(json.dumps, told)) + '\n{"event": "sta'
    (tmp_path / "events.jsonl").write_text(text)
    assert sweep.leftovers(str(tmp_path)) == [ours]


def test_people_at_a_terminal_are_spared(tmp_path: Path) -> None:
    # An editor with a file of the run open, started from a shell that stands in it.
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execve(sys.executable, python(CLEARED, "", str(tmp_path / "swap")), {"A": "b"})
    try:
        assert os.read(terminal, 100)
        assert sweep.leftovers(str(tmp_path)) == []
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)


def test_we_and_our_parents_are_spared(tmp_path: Path) -> None:
    code = "import sys\nfrom launcher.run import sweep\nprint(sweep.leftovers(sys.argv[1]))"
    words = ["sh", "-c", f'"{sys.executable}" -c "$1" "$2"; true', "sh", code, str(tmp_path)]
    done = subprocess.run(words, env={"LAUNCH_RUN": str(tmp_path)}, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_sweep_kills(tmp_path: Path, started: Started) -> None:
    pids = [started.start(python(SLEEP), env={"LAUNCH_RUN": str(tmp_path)}) for _ in range(3)]
    other = started.start(python(SLEEP), env={})
    assert sweep.sweep(str(tmp_path)) == []
    assert [proc.alive(pid) for pid in pids] == [False] * 3
    assert proc.alive(other)


def test_what_will_not_die_is_named() -> None:
    begun = time.monotonic()
    assert sweep.end(lambda: [2**22 + 1], 0.05, list) == [2**22 + 1]
    assert time.monotonic() > begun


def test_reaping_tells_how_each_child_ended() -> None:
    code = (
        "import os, subprocess, time\n"
        "from launcher.run import sweep\n"
        "a = os.fork() or os._exit(3)\n"
        "b = subprocess.Popen(['sleep', '3600'])\n"
        "found = {}\n"
        "while not found: found.update(sweep.reap())\n"
        "assert found == {a: 768}, found\n"
        "b.kill()\n"
        "while len(found) < 2: found.update(sweep.reap())\n"
        "assert found[b.pid] == 9\n"
        "assert sweep.reap() == {}\n"
        "b.returncode = 0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
