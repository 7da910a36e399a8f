"""Files of the run directory, written whole or not at all, also when the disk is full."""

import json
import os
from contextlib import suppress
from typing import Any, Dict, Iterable, Iterator, Tuple

from launcher.run.script import File

OUTCOME_RESERVE = ".outcome"
STOP_RESERVE = ".stop"
OUTCOME = "outcome.json"
STOP = "stop.json"
OUTCOME_BYTES = 32768
STOP_BYTES = 4096


def write(path: str, content: bytes, mode: int = 0o600) -> None:
    """Writes `path` by a temporary file, fsync and rename, its parents made; raises OSError."""
    write_all([(path, content, mode)])


def write_all(contents: Iterable[Tuple[str, bytes, int]]) -> None:
    """Writes many files as `write` does, each a path, its content and mode; they appear in this order.

    All have been written before any is waited for: the first fsync has the file system commit what it has of the
    others too. Raises OSError.
    """
    parts: Dict[str, str] = {}
    try:
        for path, content, mode in contents:
            parent = os.path.dirname(path)
            os.makedirs(parent, mode=0o700, exist_ok=True)
            part = os.path.join(parent, ".%s.part" % os.path.basename(path))
            parts[part] = path
            _store(part, content, mode)
        for part in parts:
            sync(part)
        for part, path in parts.items():
            os.replace(part, path)
    except OSError:
        for part in parts:
            with suppress(FileNotFoundError):
                os.unlink(part)
        raise
    for parent in dict.fromkeys(os.path.dirname(path) for path in parts.values()):
        sync(parent)


def sync(path: str) -> None:
    """Makes a file's content durable, or the names in a folder; raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def reserved(run: str) -> Iterator[Tuple[str, bytes, int]]:
    """What takes room on the disk for the files of `run` that must be written later, for `write_all`.

    Real bytes: a file with holes takes no room, and not every file system knows fallocate.
    """
    for name, size in ((OUTCOME_RESERVE, OUTCOME_BYTES), (STOP_RESERVE, STOP_BYTES)):
        yield os.path.join(run, name), b" " * size, 0o600


def fill(reserved: str, path: str, content: bytes) -> None:
    """Writes `path` into the bytes that `reserved` took, and renames; writes it anew where they are gone.

    Raises OSError.
    """
    try:
        handle = os.open(reserved, os.O_WRONLY)
    except FileNotFoundError:
        write(path, content)
        return
    try:
        _all(handle, content)
        os.ftruncate(handle, len(content))
        os.fsync(handle)
    finally:
        os.close(handle)
    os.replace(reserved, path)


def encode(file: File) -> bytes:
    """The bytes of a bound file: its text as it is, or its data as JSON (which YAML readers take too)."""
    if file.text is not None:
        return file.text.encode("utf-8", "surrogateescape")
    # YAML takes no surrogate pairs, which an ASCII encoding of JSON would write.
    return (json.dumps(file.data, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "surrogateescape")


def as_json(value: Any) -> bytes:
    """One line of JSON, ASCII, with its newline."""
    return (json.dumps(value) + "\n").encode("ascii")


def _store(path: str, content: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        _all(handle, content)
        os.fchmod(handle, mode)
    finally:
        os.close(handle)


def _all(handle: int, content: bytes) -> None:
    done = 0
    while done < len(content):
        done += os.write(handle, content[done:])
