"""The journal of a run, `events.jsonl`: one JSON object a line, flushed as it happens."""

import datetime as dt
import json
import os
import time
from typing import Any

from launcher.run.sweep import EVENTS


class Journal:
    """Appends events. A failure to write raises OSError, until `lenient` is set: then it is counted in `lost`.

    Every event has `t` (monotonic seconds), `at` (UTC, ISO 8601) and `event`; most have `step`.
    """

    def __init__(self, run: str) -> None:
        self._path = os.path.join(run, EVENTS)
        self._handle = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.lenient = False
        self.lost = 0
        # Whoever wrote before may have been killed in the middle of a line.
        self._broken = _unfinished(self._handle)

    def note(self, event: str, **facts: Any) -> None:
        """Writes one event with the facts given. Raises OSError when it cannot and is not lenient."""
        line = json.dumps({"t": round(time.monotonic(), 6), "at": now(), "event": event, **facts}) + "\n"
        try:
            self._write(line.encode("ascii"))
        except OSError:
            self.lost += 1
            if not self.lenient:
                raise

    def _write(self, line: bytes) -> None:
        content = b"\n" + line if self._broken else line
        self._broken = True
        if os.write(self._handle, content) != len(content):
            raise OSError(28, os.strerror(28), self._path)
        self._broken = False


def now() -> str:
    """Wall-clock time in UTC, ISO 8601 with milliseconds."""
    return dt.datetime.now(dt.timezone.utc).isoformat(timespec="milliseconds")


def _unfinished(handle: int) -> bool:
    size = os.fstat(handle).st_size
    return size > 0 and os.pread(handle, 1, size - 1) != b"\n"
