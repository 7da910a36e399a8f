"""What is told while a run starts, from events alone."""

import io
from typing import Any

from launcher.cli.progress import Progress
from launcher.cli.terminal import Terminal

START = {"event": "start", "step": "a", "absent": []}
SHUT = {"event": "gate-shut", "step": "a", "gate": "http http://h/health", "said": "connection refused"}
OPEN = {"event": "gate-open", "step": "a", "after": 1.25}
READY = {"event": "ready", "after": 2.0}


def told(*script: Any, live: bool = False, preparing: tuple[str, ...] = ()) -> str:
    """What is said of events (dictionaries) and ticks (seconds)."""
    err = io.StringIO()
    progress = Progress(Terminal(io.StringIO(), err, live=live), width=6, hint="see the logs", preparing=preparing)
    for item in script:
        if isinstance(item, dict):
            progress.tell(item)
        else:
            progress.tick(item)
    return err.getvalue()


def test_lines_of_a_start() -> None:
    assert told(START, OPEN, READY) == "  a       ready after 1.2 s\n"


def test_a_step_that_prepares_is_told_of_once() -> None:
    end = {"event": "exit", "step": "a", "after": 1.25}
    assert told(START, {**end, "exit": 0}, OPEN, preparing=("a",)) == "  a       done after 1.2 s\n"
    assert told(START, {**end, "exit": 3}, preparing=("a",)) == "  a       ended with exit code 3\n"
    assert told(START, {**end, "exit": 0}) == "  a       ended with exit code 0\n"


def test_reminders_where_nobody_watches() -> None:
    """Seldomer and seldomer; the first of them says where to look."""
    said = told(START, 1.0, SHUT, 9.9, 10.0, 11.0, 20.0, OPEN, 39.9, 40.0, 700.0, 999.0, 1000.0, READY, 5000.0)
    assert said == (
        "  waiting 10 s for a: http http://h/health: connection refused\n"
        "  see the logs\n"
        "  waiting 20 s for a: http http://h/health: connection refused\n"
        "  a       ready after 1.2 s\n"
        "  waiting 40 s for the first completion\n"
        "  waiting 700 s for the first completion\n"
        "  waiting 1000 s for the first completion\n"
    )


def test_hint_on_a_terminal_that_is_watched() -> None:
    assert told(START, 10.0, 20.0, live=True).count("see the logs\n") == 1


def test_what_is_waited_for_before_the_run_begins_is_not_in_its_logs() -> None:
    err = io.StringIO()
    progress = Progress(Terminal(io.StringIO(), err), width=6, hint="see the logs")
    progress.tick(10.0, "pending (Resources)")
    assert err.getvalue() == "  pending (Resources) for 10 s\n"


def test_long_answers_are_cut() -> None:
    [line, _] = told({**SHUT, "said": "x" * 500}, START, 10.0).splitlines()
    assert line.endswith("xxx…") and len(line) < 140


def test_line_that_moves_on_a_terminal() -> None:
    said = told(START, 1.0, 1.01, OPEN, READY, 2.0, live=True)
    assert said == (
        "\r\033[2K  waiting 1 s for a\r\033[2K  a       ready after 1.2 s\n\r\033[2K  running for 2 s; Ctrl-C stops it"
    )


def test_ends_and_absent_variables() -> None:
    said = told(
        {**START, "absent": ["TOKEN"]},
        {"event": "exit", "step": "a", "exit": 3},
        {"event": "exit", "step": "b", "signal": 9},
        {"event": "something-new", "step": "a"},
        {"event": "stop"},
        {"event": "exit", "step": "c", "signal": 15},
    )
    assert said == (
        "  a       `TOKEN` of `env_from` is not set\n  a       ended with exit code 3\n  b       ended with signal 9\n"
    )
