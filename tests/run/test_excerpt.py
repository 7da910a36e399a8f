"""What a log is said to tell: recorded ends of real programs, and nonsense."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.run.excerpt import LINES, excerpt, first_error

LOGS = [
    ("nothing", "", None),
    ("calm", "starting\nINFO: errors: 0\nlistening\n", None),
    ("plain", "Error: no such model\n", "Error: no such model"),
    (
        "traceback",
        (
            "loading\nTraceback (most recent call last):\n"
            '  File "/x/error.py", line 3, in fatal_error\n    raise ValueError("error: no")\n'
            "ValueError: max_model_len is too large\n"
        ),
        "ValueError: max_model_len is too large",
    ),
    (
        "cause before consequence",
        (
            "(EngineCore pid=7) ERROR 08-01 10:00:00 [core.py:790] EngineCore failed to start.\n"
            "(EngineCore pid=7) ERROR 08-01 10:00:00 [core.py:790] Traceback (most recent call last):\n"
            "RuntimeError: Engine core initialization failed. See root cause above.\n"
        ),
        "(EngineCore pid=7) ERROR 08-01 10:00:00 [core.py:790] EngineCore failed to start.",
    ),
    (
        "chained",
        (
            "Traceback (most recent call last):\n"
            "  File \"a\", line 1\n    error(fatal)\nKeyError: 'x'\n\n"
            "During handling of the above exception, another exception occurred:\n\n"
            "Traceback (most recent call last):\nRuntimeError: y\n"
        ),
        "KeyError: 'x'",
    ),
    (
        "bare",
        'Traceback (most recent call last):\n  File "a", line 1, in f\n    f()\nKeyboardInterrupt\n',
        "KeyboardInterrupt",
    ),
    (
        "rust",
        (
            "2026-08-01T10:00:00Z  INFO smg: starting error_policy=none\n"
            "thread 'main' panicked at src/metrics.rs:12:9:\nAddress already in use (os error 98)\n"
        ),
        "thread 'main' panicked at src/metrics.rs:12:9:",
    ),
    ("argparse", "usage: x [-h]\nx: error: unrecognized arguments: --a\n", "x: error: unrecognized arguments: --a"),
    (
        "argparse of many options",
        (
            "usage: sim [-h] [--port PORT]\n           [--error-after-requests N] [--never-healthy]\n"
            "           {fatal,plain}\nsim: error: unrecognized arguments: --nope\n"
        ),
        "sim: error: unrecognized arguments: --nope",
    ),
    (
        "a flag of Go",
        "flag provided but not defined: -a\nUsage of epp:\n  -fatal-after int\n    \tends with an error (default 1)\n",
        "flag provided but not defined: -a",
    ),
    ("pflag", "unknown flag: --a\nUsage of epp:\n      --error-log string   of errors\n", "unknown flag: --a"),
    ("getopt", "x: unrecognized option '--a'\nUsage: x [OPTION]\n", "x: unrecognized option '--a'"),
    (
        "usage alone",
        "usage: x [--error N]\n         [--fatal]\n\noptions for an error: none\n",
        "options for an error: none",
    ),
    ("after usage", "Usage: x\n  --error N\n\n  error: no x\n", "error: no x"),
    ("shell", "setup.sh: line 3: foo: command not found\n", "setup.sh: line 3: foo: command not found"),
    ("levels", "WARNING error one\nDEBUG fatal\n2026 INFO Exception handler ready\nFATAL: two\n", "FATAL: two"),
    ("none failed", "3 passed, 0 errors\n", None),
    ("progress", "loading: error 1\rloading: done\nfailed to bind\n", "failed to bind"),
    ("colours", "\x1b[31mERROR\x1b[0m: red\n", "ERROR: red"),
]


@pytest.mark.parametrize(("text", "wanted"), [case[1:] for case in LOGS], ids=[case[0] for case in LOGS])
def test_first_error(tmp_path: Path, text: str, wanted: str | None) -> None:
    path = tmp_path / "log"
    path.write_bytes(text.encode())
    assert excerpt(str(path)).first_error == wanted


def test_last_lines(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(
        b"".join(b"%d\n\n" % n for n in range(100)) + b"\xff\xfe\r\nbell\x07 \x1b]0;title\x07\n" + b"x" * 1000
    )
    found = excerpt(str(path)).last_lines
    assert found == [*(str(n) for n in range(83, 100)), "\ufffd\ufffd", "bell", "x" * 400]
    assert len(found) == LINES


def test_only_what_this_run_wrote_counts(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("Error: before\n")
    start = path.stat().st_size
    with path.open("a") as file:
        file.write("Error: now\n")
    assert excerpt(str(path), start) == ("Error: now", ["Error: now"])


def test_a_long_log_is_read_at_both_ends(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("w") as file:
        file.write("Error: first\n")
        file.write(("x" * 99 + "\n") * 100_000)
        file.write("last\n")
    found = excerpt(str(path))
    assert (found.first_error, found.last_lines[-1], len(found.last_lines)) == ("Error: first", "last", LINES)


def test_a_log_that_cannot_be_read(tmp_path: Path) -> None:
    assert excerpt(str(tmp_path / "absent")) == (None, [])
    assert excerpt(str(tmp_path)) == (None, [])


@given(st.lists(st.text(), max_size=5))
def test_any_lines(lines: list[str]) -> None:
    found = first_error(iter(lines))
    assert found is None or found in [line.strip() for line in lines]
