"""Whatever a verb raises becomes a message and an exit code."""

import errno
import io
from itertools import permutations
from pathlib import Path

import pytest

from launcher.cli.guard import Failed, Guard, Usage, exit_code
from launcher.cli.terminal import Terminal
from launcher.text.diagnostic import Diagnostic, Refused, Severity


def guarded(error: BaseException) -> tuple[int, str]:
    err = io.StringIO()
    guard = Guard(Terminal(io.StringIO(), err))
    with guard:
        raise error
    return guard.status, err.getvalue()


MEMORY = "`ulimit -v` tells how much memory a process may have here, `free -h` how much there is"
THREADS = "help: `ulimit -u` tells how many processes and threads you may have here, `ps -LU $USER` which there are\n"

CASES: list[tuple[BaseException, int, str]] = [
    (Usage("wrong", "wrod", ["word"]), 2, "error[command-line]: wrong\nhelp: did you mean `word`?\n"),
    (Usage("wrong", "xyz", ["word"], "see there"), 2, "error[command-line]: wrong\nhelp: see there\n"),
    (Failed("run-ended", "over", "go on", 5), 5, "error[run-ended]: over\nhelp: go on\n"),
    (Refused([Diagnostic("a", "m", None), Diagnostic("b", "n", None, exit=2)]), 3, "error[a]: m\n\nerror[b]: n\n"),
    (KeyboardInterrupt(), 130, "interrupted\n"),
    (BrokenPipeError(), 141, ""),
    (PermissionError(errno.EACCES, "Permission denied", "/x"), 1, "error[operation-failed]: `/x`: permission denied\n"),
    (OSError(errno.ENOENT, "No such file", b"/x"), 1, "error[operation-failed]: `/x`: no such file\n"),
    (OSError("odd"), 1, "error[operation-failed]: odd\n"),
    (MemoryError(), 1, f"error[operation-failed]: no memory is left\nhelp: {MEMORY}\n"),
    (RuntimeError("can't start new thread"), 1, f"error[operation-failed]: no more threads can be started\n{THREADS}"),
    (BlockingIOError(errno.EAGAIN, "Try again"), 1, f"error[operation-failed]: try again\n{THREADS}"),
    (SystemExit(4), 4, ""),
    (SystemExit("text"), 1, ""),
]


@pytest.mark.parametrize(("error", "status", "message"), CASES, ids=lambda case: type(case).__name__)
def test_what_is_foreseen(error: BaseException, status: int, message: str) -> None:
    assert guarded(error) == (status, message)


def test_a_current_directory_that_was_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "gone"
    place.mkdir()
    monkeypatch.chdir(place)
    place.rmdir()
    said = "error[operation-failed]: the current directory does not exist any more\nhelp: `cd` elsewhere\n"
    assert guarded(FileNotFoundError(errno.ENOENT, "No such file or directory")) == (1, said)


@pytest.mark.parametrize("error", [ZeroDivisionError("division by zero"), RuntimeError("odd")], ids=repr)
def test_what_is_not_foreseen(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAUNCH_DEBUG", raising=False)
    status, said = guarded(error)
    assert status == 1
    assert said.startswith(f"error[internal-error]: {type(error).__name__}: {error}\n")
    assert "please report it" in said and "Traceback" not in said


def test_traceback_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAUNCH_DEBUG", "1")
    assert "Traceback (most recent call last)" in guarded(ZeroDivisionError("division by zero"))[1]


SEVERAL = [
    ((), 0),
    ((1,), 1),
    ((4, 3), 3),
    # A port that is busy today does not hide that the recipe has to be written anew.
    ((1, 3), 3),
    ((2, 3), 3),
    ((1, 2), 2),
    ((1, 4), 4),
    ((5, 4, 1), 4),
    ((1, 5), 5),
    ((9, 1), 1),
]


@pytest.mark.parametrize(("exits", "status"), SEVERAL)
def test_exit_code_of_several_findings(exits: tuple[int, ...], status: int) -> None:
    for order in permutations(exits):
        findings = [Diagnostic("a", "a", None, exit=code) for code in order]
        assert exit_code([*findings, Diagnostic("w", "w", None, Severity.WARNING, exit=3)]) == status
