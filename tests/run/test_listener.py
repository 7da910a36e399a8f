"""Which run has a port."""

import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from launcher.run import notes
from launcher.run.listener import runs

SERVE = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); input()"
"""A program of a run, started by another, that has none of its variables."""
START = "import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', sys.argv[1]], env={}).returncode)"


def test_ports_of_runs_are_told_by_the_runs_names(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, serving({"LAUNCH_RUN": "/runs/small-1"}) as (_, port):
        ours = other.getsockname()[1]
        assert runs([port, ours], str(tmp_path)) == {port: "small-1"}
        assert runs([ours], str(tmp_path)) == {}
        assert runs([], str(tmp_path)) == {}
    assert runs([port], str(tmp_path)) == {}


def test_a_program_whose_environment_tells_nothing_was_noted(tmp_path: Path) -> None:
    (tmp_path / "small-2" / notes.FOLDER).mkdir(parents=True)
    with serving({}) as (process, port):
        assert runs([port], str(tmp_path)) == {}
        note = f"router.{notes.host()}.{process.pid}"
        (tmp_path / "small-2" / notes.FOLDER / note).write_text(Path(f"/proc/{process.pid}/stat").read_text())
        assert runs([port], str(tmp_path)) == {port: "small-2"}


@contextmanager
def serving(env: Mapping[str, str]) -> "Iterator[tuple[subprocess.Popen[str], int]]":
    """The process that started the program, and the port that it has."""
    words = [sys.executable, "-c", START, SERVE]
    with subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
        process.communicate("\n")
