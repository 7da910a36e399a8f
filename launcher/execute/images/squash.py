"""A tar archive into a squashfs file, by the quickest program at hand, on all cores.

Facts: squashfs-tools-ng 1.2.0 (`tar2sqfs`), squashfs-tools 4.5.1 (`mksquashfs -tar` and `sqfstar`, since 4.5).
`sqfstar` takes no level and zstd's is then 15, many times as slow. Both give the root 0777 and the time of day
(`-root-time` changes nothing, nor does a root in the archive or a pseudo file), would take a quarter of the machine's
memory, and refuse `SOURCE_DATE_EPOCH` beside `-mkfs-time`; it would also cut the times of files, by which Python tells
whether its bytecode is of their text. All write the same bytes for the same archive, these two once the root's time is
put right: for that, inodes are not compressed (`-noI`). Debian's `tar2sqfs` has no lzo, and writes lz4 that no
`unsquashfs` reads.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import struct
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from launcher.execute.images.failure import Failure, full, roomless

_LEVELS = {"zstd": "level=1", "gzip": "level=1", "xz": ""}
_OPTIONS = {
    "zstd": ("-Xcompression-level", "1"),
    "gzip": ("-Xcompression-level", "1"),
    "lzo": ("-Xalgorithm", "lzo1x_1"),
    "lz4": (),
    "xz": (),
}
_WRITERS = ("mksquashfs", "sqfstar")
_NG = ("tar2sqfs", *_WRITERS)
_PROGRAMS = {"zstd": _NG, "gzip": _NG, "xz": _NG, "lz4": _WRITERS, "lzo": _WRITERS}
_WAITING = 128
_JOBS = 16
"""Blocks (of 128 KiB) that wait to be compressed, and cores beyond which layers come too slowly to keep more busy.

Larger blocks unpack no quicker, and of a file that is mounted a whole one is read for every little file.
"""

_PIPE, _BUFFER = 1 << 20, 1 << 16
"""Bytes that the pipe holds, and what is gathered before it is written there: all but the content of larger files."""

_SETPIPE_SZ = 1031
"""`F_SETPIPE_SZ` of Linux, which `fcntl` knows by name since Python 3.10."""

_EVERY = 0.5
"""Seconds after which what has been written is taken to the disk."""

_BLOCK = 8192


def words(program: str, compressor: str, jobs: int, out: Path) -> list[str]:
    """The command that reads the archive from its standard input."""
    if program == "tar2sqfs":
        extra = ["-X", _LEVELS[compressor]] if _LEVELS[compressor] else []
        # By default ten blocks wait for each core.
        queue = ["-j", str(jobs), "-Q", str(_WAITING)]
        defaults = ["--defaults", "uid=0,gid=0,mode=0755,mtime=0"]
        return [program, "-q", "-f", "-c", compressor, *extra, *queue, *defaults, str(out)]
    own = ["-comp", compressor, "-no-progress", "-quiet", "-all-root", "-root-mode", "755"]
    own += ["-processors", str(jobs), "-mem", "128M", "-mkfs-time", "0", "-noI"]
    if program == "sqfstar":
        return [program, *own, str(out)]
    return [program, "-", str(out), "-tar", "-noappend", *own, *_OPTIONS[compressor]]


def program(path: str, compressor: str) -> str:
    """The quickest of them on `path`. Raises Failure where there is none."""
    found = next((name for name in _PROGRAMS[compressor] if shutil.which(name, path=path)), None)
    if found is None:
        advice = "install squashfs-tools-ng (`tar2sqfs`), or squashfs-tools 4.5 or newer"
        raise Failure("faulty", f"no program here makes squashfs files compressed by {compressor}", advice)
    return found


@dataclass
class Squash:
    """The program at work; `write` is what goes into it. Started anew by `restart`."""

    environ: Mapping[str, str]
    out: Path
    compressor: str = "zstd"
    jobs: int = field(default_factory=lambda: min(_JOBS, len(os.sched_getaffinity(0))))
    _process: subprocess.Popen[bytes] | None = None
    _said: IO[bytes] | None = None
    _durable: Durable | None = None
    _own: bool = False
    """Whether the program is one that gives the root a time of its own."""

    def restart(self) -> None:
        """Ends what runs, and begins from nothing."""
        self.kill()
        self.out.unlink(missing_ok=True)
        name = program(self.environ.get("PATH", os.defpath), self.compressor)
        made = words(name, self.compressor, self.jobs, self.out)
        # Of `tar2sqfs` the time of the file system is set by nothing else.
        env = {**self.environ, "SOURCE_DATE_EPOCH": "0", "LC_ALL": "C"}
        self._own = made[0] != "tar2sqfs"
        if self._own:
            del env["SOURCE_DATE_EPOCH"]
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the program)
        self._process = subprocess.Popen(
            made, stdin=subprocess.PIPE, stdout=self._said, stderr=self._said, env=env, bufsize=_BUFFER
        )
        stdin: Any = self._process.stdin
        with contextlib.suppress(OSError):
            fcntl.fcntl(stdin, _SETPIPE_SZ, _PIPE)
        self._durable = Durable(self.out)

    def write(self, content: bytes) -> int:
        """Raises Failure where the program has ended: it says why."""
        stdin: Any = self._process.stdin if self._process else None
        try:
            return int(stdin.write(content))
        except BrokenPipeError:
            raise self._failure() from None

    def close(self) -> None:
        """The end of the archive. Raises Failure where the program fails, or says that it left something out."""
        process, said = self._process, self._said
        if process is None or said is None or process.stdin is None:
            return
        try:
            process.stdin.close()
        except BrokenPipeError:
            raise self._failure() from None
        if process.wait() != 0:
            raise self._failure()
        text = self._text()
        if "skip" in text.lower():
            raise Failure("faulty", f"the squashfs writer left something out: {text}")
        if self._own:
            timeless(self.out)
        if self._durable is not None:
            self._durable.end()
        self._drop()

    def kill(self) -> None:
        """Ends the program, whatever it is at."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdin is not None:
                _quietly(self._process.stdin.close)
        self._drop()

    def _drop(self) -> None:
        if self._durable is not None:
            self._durable.leave()
        if self._said is not None:
            self._said.close()
        self._process = self._said = self._durable = None

    def _text(self) -> str:
        if self._said is None:
            return ""
        self._said.seek(0)
        lines = self._said.read().decode("utf-8", "replace").strip().splitlines()
        return "; ".join(lines[-3:])

    def _failure(self) -> Failure:
        if self._process is not None:
            self._process.wait()
        text = self._text()
        if roomless(text, self.out.parent):
            return full(self.out.parent, text)
        advice = None
        if "invalid option" in text:
            advice = "squashfs-tools 4.5 or newer, or squashfs-tools-ng, are wanted"
        return Failure(
            "faulty", f"the squashfs file could not be written: {text or 'its writer ended without a word'}", advice
        )


class Durable:
    """Has a file written to the disk while it is being made, so that little is left to wait for at its end."""

    def __init__(self, path: Path) -> None:
        self._path, self._over = path, threading.Event()
        pool = ThreadPoolExecutor(1)
        self.done = pool.submit(self._sync)
        pool.shutdown(wait=False)

    def _sync(self) -> None:
        while not self._path.exists():
            if self._over.wait(_EVERY):
                return
        with self._path.open("rb") as content:
            while not self._over.wait(_EVERY):
                os.fdatasync(content.fileno())

    def leave(self) -> None:
        """Ends it. Once ended, nothing happens."""
        self._over.set()
        wait([self.done])

    def end(self) -> None:
        """Ends it. Raises OSError where the disk has failed: whoever asks it next is not told again."""
        self.leave()
        self.done.result()


def timeless(image: Path) -> None:
    """Makes 0 the time of the root of a squashfs file, whose inodes are not compressed. Raises OSError.

    Facts, of squashfs 4.0: the superblock says where the root's inode is (at 32: block and byte in it) and where inodes
    begin (at 64). Blocks are of 8 KiB behind two bytes of size; an inode has its time at 8, as four bytes.
    """
    with image.open("r+b") as file:
        (root,), (inodes,) = (struct.unpack("<Q", os.pread(file.fileno(), 8, at)) for at in (32, 64))
        for byte in range(8, 12):
            block, inside = divmod((root & 0xFFFF) + byte, _BLOCK)
            os.pwrite(file.fileno(), b"\0", inodes + (root >> 16) + block * (_BLOCK + 2) + 2 + inside)


def _quietly(call: Callable[[], None]) -> None:
    try:
        call()
    except OSError:
        return
