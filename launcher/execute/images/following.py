"""A program that takes long: followed line by line, and ended with whatever ends us."""

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence

KEPT = 200
"""Lines of what a program said that are kept."""

Ends = Sequence[tuple[int, float | None]]
"""Signals, 0 for none, and the seconds that a program is given after each; None: for ever."""


def begin(
    words: Sequence[str], env: Mapping[str, str] | Mapping[bytes, bytes], keep: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """The program, which holds the file descriptors of `keep` as well. Raises OSError."""
    return subprocess.Popen(
        list(words),
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # Ctrl-C is ours to act on: the program is told by a signal it ends properly on.
        start_new_session=True,
        pass_fds=keep,
    )


def lines(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """What it says, as it does; nothing of empty lines."""
    for raw in process.stdout or ():
        # A progress bar is drawn over and over in one line.
        text = raw.decode("utf-8", "replace").rstrip().rpartition("\r")[2]
        if text.strip():
            yield text


def end(process: subprocess.Popen[bytes], ends: Ends) -> None:
    """Ends the program and its group, by one signal after the other until it has."""
    for number, patience in ends:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience)
