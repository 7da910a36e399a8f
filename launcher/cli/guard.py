"""The one place where whatever ends a verb becomes a message and an exit code."""

import errno
import os
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from types import TracebackType
from typing import Any, Self

from launcher.cli.terminal import Terminal

SIGPIPE = 141
"""Exit code of a command whose stdout was closed by its reader: what a shell reports for SIGPIPE."""

INTERRUPTED = 130

_NO_THREAD = "can't start new thread"
"""CPython's words where the kernel refuses a thread, the only thing that tells this RuntimeError (3.11 to 3.14)."""

_ADVICE: Mapping[int, str] = {
    errno.EAGAIN: "`ulimit -u` tells how many processes and threads you may have here, `ps -LU $USER` which there are",
    errno.ENOMEM: "`ulimit -v` tells how much memory a process may have here, `free -h` how much there is",
    errno.EMFILE: "`ulimit -n` tells how many files a process may have open: `ulimit -n 4096`",
    errno.ENOSPC: "`df -h` tells which file system is full",
    errno.EDQUOT: "`quota -s` tells how much you may have there",
}
"""What to do where this machine gives no more of something."""

_MOST = 12
"""Words that are listed where none is near."""


class Usage(Exception):
    """The command line is wrong: `word` was given, one of `known` was wanted; else `advice` says what to do."""

    def __init__(self, message: str, word: str = "", known: Iterable[str] = (), advice: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.word = word
        self.known = tuple(known)
        self.advice = advice


class Failed(Exception):
    """The operation could not be done: `message`, `advice` on what to do, and the exit code `status`."""

    def __init__(self, code: str, message: str, advice: str | None = None, status: int = 1) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.advice = advice
        self.status = status


class Guard:
    """Holds the exit code while a verb runs and turns what it raises into one.

    A context manager rather than an `except`: it stands at the outermost edge alone, and nothing inside
    may swallow what it does not understand.
    """

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.status = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None:
            return True
        # What was said last may itself meet a closed stdout; that has the same answer as everywhere.
        try:
            self._answer(error)
            self.terminal.flush()
        except BrokenPipeError:
            self.status = SIGPIPE
        except OSError:
            self.status = self.status or 1
        return True

    def _answer(self, error: BaseException) -> None:
        self.status = self._told(error) if self.status == 0 else self.status

    def _told(self, error: BaseException) -> int:
        for kind, answer in _ANSWERS:
            if isinstance(error, kind):
                return answer(error, self.terminal)
        if isinstance(error, import_module("launcher.text.diagnostic").Refused):
            return refuse(error.diagnostics, self.terminal)
        return _internal(error, self.terminal)


def refuse(findings: Sequence[Any], terminal: Terminal) -> int:
    """Draws the findings as messages; returns their exit code."""
    report = import_module("launcher.text.report")
    terminal.note(report.full(findings, color=terminal.color_err).rstrip("\n"))
    return exit_code(findings)


def exit_code(findings: Iterable[Any]) -> int:
    """The exit code for findings: the first of `_FIRST` among those that refuse, 0 where none does.

    Contents that are refused come first: they must be written anew, whatever else is in the way today. What only
    this machine lacks at this moment comes last.
    """
    refusing = {finding.exit for finding in findings if finding.severity == "error"}
    return min(refusing, key=lambda code: (_FIRST.index(code) if code in _FIRST else len(_FIRST), code), default=0)


_FIRST = (3, 2, 4, 5, 1)


def _diagnose(terminal: Terminal, code: str, message: str, **more: Any) -> int:
    return refuse([import_module("launcher.text.diagnostic").Diagnostic(code, message, None, **more)], terminal)


def _usage(error: Usage, terminal: Terminal) -> int:
    nearest = import_module("launcher.text.suggest").nearest(error.word, error.known) if error.word else None
    listed = ", ".join(f"`{word}`" for word in sorted(error.known)[:_MOST])
    advice = f"did you mean `{nearest}`?" if nearest else error.advice or (f"there are {listed}" if listed else None)
    return _diagnose(terminal, "command-line", error.message, exit=2, help=advice)


def _failed(error: Failed, terminal: Terminal) -> int:
    return _diagnose(terminal, error.code, error.message, exit=error.status, help=error.advice)


def _interrupted(error: KeyboardInterrupt, terminal: Terminal) -> int:
    terminal.note("interrupted")
    return INTERRUPTED


def _broken_pipe(error: BrokenPipeError, terminal: Terminal) -> int:
    return SIGPIPE


def _system(error: OSError, terminal: Terminal) -> int:
    about = f"`{os.fsdecode(error.filename)}`: " if isinstance(error.filename, str | bytes) else ""
    if isinstance(error, FileNotFoundError) and not about and _astray():
        return _diagnose(
            terminal, "operation-failed", "the current directory does not exist any more", exit=1, help="`cd` elsewhere"
        )
    reason = (error.strerror or str(error) or type(error).__name__).lower()
    return _diagnose(terminal, "operation-failed", f"{about}{reason}", exit=1, help=_ADVICE.get(error.errno or 0))


def _memory(error: MemoryError, terminal: Terminal) -> int:
    return _diagnose(terminal, "operation-failed", "no memory is left", exit=1, help=_ADVICE[errno.ENOMEM])


def _runtime(error: RuntimeError, terminal: Terminal) -> int:
    if str(error) != _NO_THREAD:
        return _internal(error, terminal)
    return _diagnose(terminal, "operation-failed", "no more threads can be started", exit=1, help=_ADVICE[errno.EAGAIN])


def _astray() -> bool:
    """Whether the current directory was taken away."""
    try:
        pathlib.Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _leave(error: SystemExit, terminal: Terminal) -> int:
    return error.code if isinstance(error.code, int) else 1


def _internal(error: BaseException, terminal: Terminal) -> int:
    if os.environ.get("LAUNCH_DEBUG"):
        terminal.note("".join(import_module("traceback").format_exception(error)).rstrip("\n"))
    return _diagnose(
        terminal,
        "internal-error",
        f"{type(error).__name__}: {error}",
        exit=1,
        notes=("this is a fault of the launcher, not of your files",),
        help="please report it with the output of the same command under `LAUNCH_DEBUG=1`",
    )


_ANSWERS: Sequence[tuple[type[BaseException], Callable[[Any, Terminal], int]]] = (
    (Usage, _usage),
    (Failed, _failed),
    (KeyboardInterrupt, _interrupted),
    (BrokenPipeError, _broken_pipe),
    (OSError, _system),
    (MemoryError, _memory),
    (RuntimeError, _runtime),
    (SystemExit, _leave),
)
