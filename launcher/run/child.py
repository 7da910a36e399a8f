"""Starting one child, and what is known of it while it runs."""

import os
import subprocess
import threading
import time
from typing import Any, Dict, List, Mapping, Optional, Tuple

from launcher.run import proc
from launcher.run.script import Child, Script
from launcher.run.sweep import VARIABLE

Bytes = Dict[bytes, bytes]


class Unstartable(Exception):
    """Raised when a child's program cannot be started; the text says why."""


class Running:
    """A child that was started: its process group and session have its pid.

    `offset` is where its part of the log begins; `halt` ends the asking of its gates; `status` is its wait
    status once it has ended.
    """

    def __init__(self, child: Child, process: "subprocess.Popen[bytes]", offset: int) -> None:
        self.child = child
        self.pid = process.pid
        self.born = proc.born(process.pid)
        self.offset = offset
        self.began = time.monotonic()
        self.halt = threading.Event()
        self.status: Optional[int] = None
        self._process = process

    @property
    def killed(self) -> bool:
        """Whether a signal ended it: of an `srun`, the step may live on."""
        return self.status is not None and os.WIFSIGNALED(self.status)

    def ended(self, status: int) -> None:
        """Notes the wait status; its gates are asked no more."""
        self.status = status
        self.halt.set()
        # Popen would wait for the pid itself some day, when another process may have it.
        self._process.returncode = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)


def start(child: Child, script: Script, run: str) -> Running:
    """Starts the child in a session of its own. Raises Unstartable, and OSError where its log cannot be written.

    Everything is handed over as bytes in UTF-8, whatever the locale of this process.
    """
    path = os.path.join(run, log(child))
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        offset = os.fstat(handle).st_size
        process = subprocess.Popen(
            [_encode(word) for word in child.argv],
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            cwd=_encode(child.cwd),
            env=environment(child, script.inherit, run, shell()),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise Unstartable(_reason(error)) from error
    finally:
        os.close(handle)
    return Running(child, process, offset)


def told(running: Running) -> Dict[str, Any]:
    """What the journal says of a child's start."""
    step = running.child
    return {
        "step": step.name,
        "role": step.role,
        "pid": running.pid,
        "born": running.born,
        "argv": list(step.argv),
        "env_from": list(step.env_from),
        "absent": absent(step, shell()),
        "log": log(step),
    }


def log(child: Child) -> str:
    """Path of the child's log in the run directory."""
    return child.log or "logs/%s.log" % child.name


def environment(child: Child, inherit: Tuple[str, ...], run: str, environ: Mapping[bytes, bytes]) -> Bytes:
    """All a child's environment: what may be inherited, what it asked for by name, its own, the run."""
    found = inherited(inherit, environ)
    before = _encode(child.env_prefix)
    found.update({before + name: value for name, value in inherited(child.env_from, environ).items()})
    found.update({_encode(name): _encode(value) for name, value in child.env.items()})
    found[VARIABLE.encode("ascii")] = os.fsencode(run)
    return found


def shell() -> Bytes:
    """The environment this process was started with.

    Python's own view has more: where the locale is C it sets LC_CTYPE for itself (PEP 538, from 3.7 on).
    """
    with open("/proc/self/environ", "rb") as file:
        entries = file.read().split(b"\0")
    return dict(entry.split(b"=", 1) for entry in entries if b"=" in entry)


def inherited(names: Tuple[str, ...], environ: Mapping[bytes, bytes]) -> Bytes:
    """The variables an allow-list lets through; `LC_*` names all that begin so."""
    exact = {_encode(name) for name in names}
    prefixes = tuple(_encode(name[:-1]) for name in names if name.endswith("*"))
    return {name: value for name, value in environ.items() if name in exact or name.startswith(prefixes)}


def absent(child: Child, environ: Mapping[bytes, bytes]) -> List[str]:
    """Names of `env_from` that are not set here."""
    return [name for name in child.env_from if not inherited((name,), environ)]


def _reason(error: Exception) -> str:
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    named = error.filename
    return error.strerror + (": '%s'" % os.fsdecode(named) if named else "")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
