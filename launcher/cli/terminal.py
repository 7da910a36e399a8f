"""Where words go: data to stdout, messages to stderr, neither ever the reason for a crash."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


class Terminal:
    """The two streams and whether each takes colour. `say` writes data, `note` messages."""

    def __init__(
        self, out: TextIO, err: TextIO, *, live: bool = False, color: tuple[bool, bool] = (False, False)
    ) -> None:
        self.out = out
        self.err = err
        self.live = live
        self.color_out, self.color_err = color
        self._status = ""

    @classmethod
    def open(cls) -> "Terminal":
        """The process's own streams; those that were closed are replaced by ones that go nowhere.

        Characters the encoding lacks are written as escapes (`LANG=C`). Colour follows the terminal,
        `NO_COLOR` and `FORCE_COLOR`; `live` says whether stderr is a terminal that can redraw a line.
        """
        _fill_standard_descriptors()
        out, err = (_usable(stream, number) for number, stream in ((1, sys.stdout), (2, sys.stderr)))
        return cls(out, err, live=_terminal(err), color=(_colored(out), _colored(err)))

    def say(self, text: str = "") -> None:
        """One or more lines of data. Raises BrokenPipeError where the reader has gone."""
        self.settle()
        with _named():
            self.out.write(text + "\n")

    def note(self, text: str = "") -> None:
        """One or more lines of messages; lost without a word where nobody reads them."""
        self.settle()
        self._err(text + "\n")

    def status(self, text: str) -> None:
        """A line that the next one replaces, on a live terminal only."""
        if self.live and text != self._status:
            self._err(f"\r\033[2K{text[: _width(self.err) - 1]}")
            self._status = text

    def settle(self) -> None:
        """Takes the status line away."""
        if self._status:
            self._status = ""
            self._err("\r\033[2K")

    def flush(self) -> None:
        """Everything said so far is with its reader. Raises OSError where that cannot be."""
        self.settle()
        with _named():
            self.out.flush()

    def close(self) -> None:
        """What can still be written is; the rest goes nowhere, so that the interpreter ends without a complaint."""
        for stream in (self.out, self.err):
            try:
                stream.flush()
            except (OSError, ValueError):
                _abandon(stream)

    def _err(self, text: str) -> None:
        try:
            self.err.write(text)
            self.err.flush()
        except (OSError, ValueError):
            return  # nobody is left to be told


@contextmanager
def _named() -> Iterator[None]:
    """An OSError says that stdout is what cannot be written: of a stream it names no file."""
    try:
        yield
    except OSError as error:
        error.filename = "<stdout>"
        raise


def paint(text: str, style: str, color: bool) -> str:
    """`text` in an SGR `style` (`1` bold, `31` red …) where colour is wanted."""
    return f"\033[{style}m{text}\033[0m" if color else text


def _abandon(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    except (OSError, ValueError):
        return  # not a stream of the process (a test's buffer): nothing to quieten
    finally:
        os.close(nowhere)


def _fill_standard_descriptors() -> None:
    # A closed descriptor would be given to the next file opened, which would then receive our messages.
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)


def _usable(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:
        return os.fdopen(os.dup(number), "w", encoding="utf-8", errors="backslashreplace")
    if reconfigure := getattr(stream, "reconfigure", None):
        reconfigure(errors="backslashreplace")
    return stream


def _terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _colored(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or _terminal(stream)


def _width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
