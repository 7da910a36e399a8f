"""Signals to the tasks that noted themselves, and to no others."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.run import notes, steps, tell

CODE = """\
import signal, sys
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(5))
print("listening", flush=True)
while True: signal.pause()
"""


@pytest.fixture
def task(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    (tmp_path / notes.FOLDER).mkdir()
    with subprocess.Popen([sys.executable, "-S", "-c", CODE], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "listening\n"
        yield process
        process.kill()


def note(run: Path, child: str, pid: int, text: str | None = None, host: str | None = None) -> None:
    content = Path(f"/proc/{pid}/stat").read_text() if text is None else text
    (run / notes.FOLDER / f"{child}.{host or notes.host()}.{pid}").write_text(content)


def test_a_task_hears_its_signal(
    tmp_path: Path, task: "subprocess.Popen[str]", capsys: pytest.CaptureFixture[str]
) -> None:
    note(tmp_path, "worker-0", task.pid)
    assert tell.main([str(tmp_path), "USR1", "worker-0", "worker-1"]) == 0
    assert task.wait(timeout=20) == 5
    assert json.loads(capsys.readouterr().out) == {"worker-0": [task.pid], "worker-1": []}


@pytest.mark.parametrize("kind", ["another node", "a later process", "broken"])
def test_others_do_not(
    tmp_path: Path, task: "subprocess.Popen[str]", capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    stat = Path(f"/proc/{task.pid}/stat").read_text()
    fields = stat.rpartition(")")[2].split()
    fields[19] = str(int(fields[19]) - 1)
    text = {"another node": stat, "a later process": "1 (x) " + " ".join(fields), "broken": "1 ("}[kind]
    note(tmp_path, "worker-0", task.pid, text, "elsewhere" if kind == "another node" else None)
    assert tell.main([str(tmp_path), "USR1", "worker-0"]) == 0
    assert json.loads(capsys.readouterr().out) == {"worker-0": []}
    assert task.poll() is None


def test_a_child_is_no_prefix_of_another(tmp_path: Path, task: "subprocess.Popen[str]") -> None:
    note(tmp_path, "worker-1.x", task.pid)
    assert notes.noted(str(tmp_path), "worker-1", notes.host()) == []
    assert notes.noted(str(tmp_path), "worker-1.x", notes.host()) == [task.pid]
    assert notes.living(str(tmp_path), notes.host()) == [task.pid]


def test_steps_of_a_run_are_told_from_those_of_another() -> None:
    text = "7.batch batch\n7.0 launch.janitor@run-1\n7.1 worker-0@run-1\n7.2 worker-0@run-2\n7.3 worker-0@run-1\n\nx\n"
    found = steps.of("run-1", text)
    assert found == {"launch.janitor": ["7.0"], "worker-0": ["7.1", "7.3"]}
    assert steps.ids(found, ["worker-0", "router"]) == ["7.1", "7.3"]
