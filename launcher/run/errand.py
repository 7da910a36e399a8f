"""Short commands that run beside everything else, such as Slurm's own programs, collected by the main thread."""

import os
import signal
import subprocess
import time
from typing import Dict, List, Mapping, Optional, Sequence, Union

from launcher.run import proc

Words = Sequence[Union[str, bytes]]
_PATIENCE = 30.0
_ABSENT = 127


class Errand:
    """One command. `exit` is None while it runs, then its exit code (minus the signal that ended it, 127 where it
    could not be started); `out` and `err` are what it printed.
    """

    def __init__(self, words: Words, env: Mapping[bytes, bytes], folder: str, patience: float) -> None:
        self.exit: Optional[int] = None
        self.out = ""
        self.err = ""
        self.pid = 0
        self.deadline = time.monotonic() + patience
        # In memory: a full disk must not keep a run from being ended.
        self._files = [os.memfd_create(name, os.MFD_CLOEXEC) for name in ("out", "err")]
        try:
            self._process = subprocess.Popen(
                list(words),
                env=dict(env),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=self._files[0],
                stderr=self._files[1],
                start_new_session=True,
            )
            self.pid = self._process.pid
        except (OSError, ValueError) as error:
            self._close()
            self.exit, self.err = _ABSENT, str(error)

    def ended(self, status: int) -> None:
        """Notes the wait status, and what was printed."""
        self.exit = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        # Popen would wait for the pid itself some day, when another process may have it.
        self._process.returncode = self.exit
        self.out, self.err = (_text(file) for file in self._files)
        self._close()

    def hurry(self, now: float) -> None:
        """Kills it when its time is over. TERM first: `srun` takes its step along then."""
        if self.exit is None and now > self.deadline:
            proc.send_group(self.pid, signal.SIGKILL if now > self.deadline + 2.0 else signal.SIGTERM)

    @property
    def reason(self) -> str:
        """What it said last, on standard error rather than on standard output."""
        lines = (self.err.strip() or self.out.strip()).splitlines()
        return lines[-1].strip() if lines else "exit code %s" % self.exit

    def _close(self) -> None:
        for file in self._files:
            os.close(file)


class Errands:
    """All that run. Only the thread that collects the children of this process may use it."""

    def __init__(self, env: Mapping[bytes, bytes], folder: str) -> None:
        self._env = env
        self._folder = folder
        self._running: List[Errand] = []

    def begin(self, words: Sequence[str], patience: float = _PATIENCE) -> Errand:
        """Starts one; after `patience` seconds it is ended by force."""
        encoded = [word.encode("utf-8", "surrogateescape") for word in words]
        errand = Errand(encoded, self._env, self._folder, patience)
        if errand.exit is None:
            self._running.append(errand)
        return errand

    def collect(self, gone: Mapping[int, int]) -> None:
        """Takes note of those among `gone` (pid → wait status), and of those whose time is over."""
        now = time.monotonic()
        for errand in list(self._running):
            if errand.pid in gone:
                errand.ended(gone[errand.pid])
                self._running.remove(errand)
            else:
                errand.hurry(now)

    def halt(self) -> None:
        """Lets none go on longer than it takes to end it."""
        for errand in self._running:
            errand.deadline = 0.0
            errand.hurry(1.0)


def fetch(words: Sequence[str], env: Mapping[bytes, bytes], folder: str, patience: float = _PATIENCE) -> Dict[str, str]:
    """One command to its end, for a process in which nobody else collects children: `exit`, `out` and `err`."""
    try:
        done = subprocess.run(
            [word.encode("utf-8", "surrogateescape") for word in words],
            env=dict(env),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return {"exit": str(_ABSENT), "out": "", "err": str(error)}
    return {
        "exit": str(done.returncode),
        "out": done.stdout.decode("utf-8", "replace"),
        "err": done.stderr.decode("utf-8", "replace"),
    }


def _text(file: int) -> str:
    return os.pread(file, os.fstat(file).st_size, 0).decode("utf-8", "replace")
