"""Streams that are closed, broken, narrow or not a terminal."""

import io
import os
import subprocess
from pathlib import Path

import pytest

from launcher.cli.table import table, width
from launcher.cli.terminal import Terminal, paint
from tests.cli.program import LAUNCH, Program


class Broken(io.StringIO):
    """A stream whose reader has gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError

    def flush(self) -> None:
        raise BrokenPipeError


def test_messages_nobody_reads_are_lost_quietly() -> None:
    terminal = Terminal(io.StringIO(), Broken())
    terminal.note("hello")
    assert terminal.out.getvalue() == ""  # type: ignore[attr-defined]


def test_data_nobody_reads_is_told() -> None:
    with pytest.raises(BrokenPipeError):
        Terminal(Broken(), io.StringIO()).say("hello")


def test_status_line_gives_way_to_what_is_said() -> None:
    out, err = io.StringIO(), io.StringIO()
    terminal = Terminal(out, err, live=True)
    terminal.status("waiting")
    terminal.note("done")
    assert err.getvalue() == "\r\033[2Kwaiting\r\033[2Kdone\n"


def test_status_line_is_for_terminals_alone() -> None:
    err = io.StringIO()
    Terminal(io.StringIO(), err).status("waiting")
    assert err.getvalue() == ""


def test_paint() -> None:
    assert paint("x", "1", True) == "\033[1mx\033[0m"
    assert paint("x", "1", False) == "x"


def test_table_aligns_and_drops_empty_columns() -> None:
    drawn = table(("step", "gpus", "url"), [("worker-0", "", "http://a"), ("r", "", "")])
    assert drawn.split("\n") == ["step      url", "worker-0  http://a", "r         -"]


def test_table_counts_columns_of_the_terminal() -> None:
    assert [width(text) for text in ("abc", "模型", "e\u0301")] == [3, 4, 1]


def shell(program: Program, command: str, **env: str | None) -> subprocess.CompletedProcess[bytes]:
    words = command.replace("LAUNCH", " ".join(LAUNCH))
    return subprocess.run(
        ["bash", "-c", words], cwd=program.home, env=program.env(env), capture_output=True, timeout=60
    )


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("LAUNCH --help >&-", 0),
        ("LAUNCH --help <&-", 0),
        ("LAUNCH --help 2>&-", 0),
        ("LAUNCH nonsense 2>&-", 2),
        ("LAUNCH nonsense <&- >&- 2>&-", 2),
        ("LAUNCH --help >/dev/full", 1),
        # `exec` leaves no shell between: the exit code is the program's own.
        ("set -o pipefail; LAUNCH completion bash | exec true", 141),
    ],
)
def test_streams_that_are_not_there(launch: Program, command: str, status: int) -> None:
    done = shell(launch, command)
    assert done.returncode == status
    assert b"Traceback" not in done.stderr and b"Exception" not in done.stderr


def test_full_device_is_told(launch: Program) -> None:
    said = (
        b"error[operation-failed]: `<stdout>`: no space left on device\nhelp: `df -h` tells which file system is full\n"
    )
    assert shell(launch, "LAUNCH --help >/dev/full").stderr == said


@pytest.mark.parametrize(
    "env", [{"LANG": "C", "LC_ALL": "C"}, {"PYTHONUTF8": "0", "LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}]
)
def test_narrow_encodings_get_escapes(launch: Program, env: dict[str, str | None]) -> None:
    done = launch("--help", env=env)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert launch("größe", env=env).returncode == 2


def test_words_that_are_no_utf_8(launch: Program) -> None:
    done = subprocess.run(
        [*map(os.fsencode, LAUNCH), b"\xff\xfe"], cwd=launch.home, env=launch.env(), capture_output=True, timeout=60
    )
    assert done.returncode == 2
    assert b"there is no verb" in done.stderr


@pytest.mark.parametrize(
    ("env", "colored"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colour_follows_the_environment(launch: Program, env: dict[str, str], colored: bool) -> None:
    assert ("\033[" in launch("nonsense", env=dict(env)).stderr) is colored


def test_home_unset(launch: Program, tmp_path: Path) -> None:
    assert launch("--version", env={"HOME": None}).returncode == 0
