"""Answers about this machine."""

import importlib.metadata
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from launcher.execute.ports import owner
from launcher.execute.probe import answers
from launcher.model.facts import Answer, Folder, Installed, Module, Port, Program, Question, Syntax, Variable


@pytest.fixture
def listener() -> Iterator[int]:
    """A port somebody (this process) listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def ask(question: Question) -> Answer:
    return answers([question])[question]


def test_busy_port_names_its_owner(listener: int) -> None:
    answer = ask(Port(listener))
    assert not answer.yes
    assert f"(pid {os.getpid()}, user " in answer.text
    assert answer.text.startswith("in use by `")


def held(run: Path) -> Answer:
    """The answer for a port of that run, whose program has written over its own environment: who started it tells."""
    serve = (
        "import socket, sys; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); input()"
    )
    start = (
        "import os, subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', sys.argv[1]], env={}).returncode)"
    )
    words = [sys.executable, "-c", start, serve]
    env = {"LAUNCH_RUN": str(run)}
    with subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        answer = ask(Port(int(process.stdout.readline())))
        process.communicate("\n")
    return answer


def test_busy_port_of_a_run_names_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    run = tmp_path / "launch" / "runs" / "mine-20260801-101500-3fa9"
    run.mkdir(parents=True)
    assert held(run) == Answer(yes=False, text=f"in use by the run `{run.name}`", run=run.name)


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("/my state/launch/runs/a-1", "`XDG_STATE_HOME='/my state' launch down a-1`"),
        ("/scratch/a-1", None),
    ],
)
def test_a_run_that_down_would_not_find_is_named_by_its_place(path: str, advice: str | None) -> None:
    assert held(Path(path)) == Answer(yes=False, text=f"in use by the run `{path}`", advice=advice)


def test_port_is_free_once_its_owner_has_gone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
    assert ask(Port(number)) == Answer(yes=True)
    assert owner(number) is None


def test_port_with_connections_that_linger_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", number)):
            accepted, _ = server.accept()
            accepted.close()  # closed by the server first: its side stays in TIME_WAIT
    assert ask(Port(number)).yes


def test_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAUNCH_TEST_EMPTY", "")
    monkeypatch.delenv("LAUNCH_TEST_ABSENT", raising=False)
    assert ask(Variable("LAUNCH_TEST_EMPTY")).yes
    assert not ask(Variable("LAUNCH_TEST_ABSENT")).yes


def test_program(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("#!/bin/sh\n")
    assert ask(Program("bash")).yes
    assert ask(Program("no-such-program")).text == "`no-such-program` is not on `PATH`"
    assert ask(Program(str(plain))).text == f"`{plain}` cannot be run"
    assert ask(Program(str(tmp_path / "gone"))).text == f"`{tmp_path / 'gone'}` does not exist"
    plain.chmod(0o755)
    assert ask(Program(str(plain))).yes


@pytest.mark.parametrize("python", [sys.executable, "python3"])
def test_module(python: str) -> None:
    assert ask(Module(python, "json")).yes
    assert ask(Module(python, "json.tool")).yes
    for name in ("no_such_module", "no_such_module.inner", "json.no_such_module", "json.tool.inner", "os.path"):
        assert ask(Module(python, name)).text == f"`{python}` has no module `{name}`"


def test_module_is_looked_for_and_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a step would find it: neither here nor by `PYTHONPATH`, which steps do not get."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "heavy").mkdir()
    (packages / "heavy" / "__init__.py").write_text("raise SystemExit('imported')")
    (packages / "heavy" / "inner.py").write_text("raise SystemExit('imported')")
    python = str(environment / "bin" / "python")
    assert ask(Module(python, "heavy.inner")).yes
    assert not ask(Module(python, "heavy.other")).yes

    (tmp_path / "near.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert not ask(Module(python, "near")).yes


@pytest.mark.parametrize(
    ("kind", "variables", "expected"),
    [
        ("config", {"HOME": "/h"}, "/h/.config/launch"),
        ("config", {"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "/x/launch"),
        ("data", {"HOME": "/h"}, "/h/.local/share/launch"),
        ("data", {"HOME": "/h", "XDG_DATA_HOME": "/x"}, "/x/launch"),
        ("data", {"HOME": "/h", "XDG_DATA_HOME": "x"}, "/h/.local/share/launch"),
        ("config", {}, None),
        ("data", {"HOME": "h"}, None),
    ],
)
def test_folder(monkeypatch: pytest.MonkeyPatch, kind: Any, variables: Mapping[str, str], expected: str | None) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert ask(Folder(kind)) == Answer(yes=expected is not None, text=expected or "")


def test_version_beside_a_program(tmp_path: Path) -> None:
    own = importlib.metadata.version("smg")
    assert ask(Installed(sys.executable, "smg")) == Answer(yes=True, text=own)
    assert not ask(Installed(sys.executable, "no-such-thing")).yes
    assert not ask(Installed("no-such-program", "smg")).yes
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "vllm").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "vllm").chmod(0o755)
    (tmp_path / "lib" / "python3.12" / "site-packages" / "My_Server-1.2.post1.dist-info").mkdir(parents=True)
    assert ask(Installed("vllm", "my-server", f"{tmp_path}/bin")) == Answer(yes=True, text="1.2.post1")


def test_module_of_an_absent_python_is_not_our_question() -> None:
    assert ask(Module("no-such-python", "json")).yes


@pytest.mark.parametrize(
    "text", ["", "ulimit -n 1048576\n", "if true; then\n  echo 'a b'\nfi", "echo ${x:-$(date)}", "é\n"]
)
def test_syntax_that_bash_parses(text: str) -> None:
    assert ask(Syntax(text)).yes


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("if true; then\n", "line 2: syntax error: unexpected end of file"),
        ("echo 'open", "unexpected EOF while looking for matching"),
        ("echo )\n", "line 1: syntax error near unexpected token `)'"),
    ],
)
def test_syntax_that_bash_refuses(text: str, complaint: str) -> None:
    assert complaint in ask(Syntax(text)).text


def test_syntax_runs_nothing(tmp_path: Path) -> None:
    assert ask(Syntax(f"touch {tmp_path}/ran\n")).yes
    assert list(tmp_path.iterdir()) == []


def test_many_questions_are_each_answered(listener: int) -> None:
    asked: list[Question] = [
        Port(listener),
        Variable("PATH"),
        Program("sh"),
        Syntax("true"),
        Module(sys.executable, "os"),
    ]
    found = answers(asked)
    assert list(found) == asked
    assert [answer.yes for answer in found.values()] == [False, True, True, True, True]
