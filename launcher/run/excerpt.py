"""What a log says about a failure: its first error line and its last lines."""

import os
import re
from typing import Iterator, List, NamedTuple, Optional

from launcher.run.words import OWNERS, UNFINISHED

LINES = 20
_WIDTH = 400
_TAIL = 65536
_HEAD = 8 * 1024 * 1024
# Terminal sequences, and control characters other than tabs.
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f]")
_ERROR = re.compile(
    r"\b\w*(?:Error|Exception|Interrupt)\b(?:\s*[:(]|\s*$)"
    r"|\bpanicked at\b|\b(?:error|fatal|panic|exception|critical)\b|\berror:|segmentation fault|core dumped"
    r"|\b(?:cannot|could not|failed to|unable to|no such file|not found|permission denied|out of memory)\b"
    r"|\b(?:unknown|unrecognized|unexpected|invalid) (?:shorthand )?(?:argument|flag|option)s?\b"
    r"|\bflag provided but not defined\b",
    re.IGNORECASE,
)
# Levels below error, and lines of a traceback that stand before what it reports.
_BORING = re.compile(
    r"^.{0,80}?\b(?:INFO|DEBUG|TRACE|WARN|WARNING)\b"
    r"|Traceback \(most recent call last\)|\bFile \"[^\"]*\", line \d+|^\s*(?:raise|return|await|except|from|import)\b"
    r"|The above exception was|During handling of the above|\b(?:0|no) errors?\b",
)
_SOURCE = re.compile(r"\bFile \"[^\"]*\", line \d+")
# Of argparse, of Go's flag packages, of clap; the options stand on indented lines below.
_USAGE = re.compile(r"^\s*usage(?::| of )", re.IGNORECASE)


class Excerpt(NamedTuple):
    """`first_error` is None where no line looks like one."""

    first_error: Optional[str]
    last_lines: List[str]

    @property
    def unfinished(self) -> Optional[str]:
        """Whose preamble (`OWNERS`) it says to have ended before the program began; None for a program's own end."""
        return next((owner for owner in OWNERS if UNFINISHED % owner in self.last_lines), None)


def excerpt(path: str, start: int = 0) -> Excerpt:
    """First error line and last lines of a log from byte `start`; nothing of a log that cannot be read."""
    try:
        with open(path, "rb") as file:
            file.seek(start)
            head = file.read(_HEAD)
            size = os.fstat(file.fileno()).st_size
            tail = head[-_TAIL:]
            if size > start + _HEAD:
                file.seek(size - _TAIL)
                tail = file.read(_TAIL)
    except OSError:
        return Excerpt(None, [])
    lines = [line for line in _lines(tail) if line.strip()]
    return Excerpt(first_error(_lines(head)), lines[-LINES:])


def first_error(lines: Iterator[str]) -> Optional[str]:
    """The first line that tells of an error: engines report the cause first and its consequences after."""
    source = usage = False
    for line in lines:
        usage = _USAGE.match(line) is not None or (usage and line[:1].isspace())
        if usage:
            continue  # an option may be called `--error-after N`
        # The line under `File "x", line 3` is source text, whatever it says.
        quoted, source = source, _SOURCE.search(line) is not None
        if not quoted and _ERROR.search(line) and not _BORING.search(line):
            return line.strip()
    return None


def _lines(content: bytes) -> Iterator[str]:
    for raw in content.split(b"\n"):
        # A progress bar overwrites its line by carriage returns: what it last showed counts.
        shown = raw.rstrip(b"\r").rpartition(b"\r")[2]
        yield _CONTROL.sub("", shown.decode("utf-8", "replace"))[:_WIDTH].rstrip()
