"""A running testbed: what tests start on it and ask of it."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_bytes
from typing import TypeVar

from tests.testbed import guard
from tests.testbed.layout import USERS, Layout
from tests.testbed.place import Place


@dataclass(frozen=True)
class Step:
    """One step as squeue tells it."""

    id: str
    name: str
    nodes: str


@dataclass
class Bed:
    """A testbed; `root` is its folder, `shared` the part of it that users write in and all nodes see."""

    root: Path
    layout: Layout
    places: list[Place] = field(default_factory=list)
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def login(self) -> Place:
        """The node where users work and slurmctld runs."""
        return self.places[0]

    @property
    def nodes(self) -> list[Place]:
        """The compute nodes."""
        return self.places[1:]

    @property
    def shared(self) -> Path:
        """A folder that every node and the tests see under one path."""
        return self.root / "shared"

    def node(self, name: str) -> Place:
        """The node called `name`."""
        return next(place for place in self.places if place.name == name)

    def environment(self, user: str = "alice") -> dict[str, str]:
        """What the shell of `user` has after login; SLURM_CONF leads to this testbed."""
        home = str(self.root / "home" / user)
        path = f"{self.root}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        return {
            "PATH": path,
            "HOME": home,
            "USER": user,
            "LOGNAME": user,
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "SLURM_CONF": f"{self.root}/etc/slurm.conf",
        }

    def start(
        self,
        argv: Sequence[str],
        *,
        user: str = "alice",
        env: Mapping[str, str] | None = None,
        on: str = "login",
        cwd: Path | None = None,
        **streams: object,
    ) -> subprocess.Popen[str]:
        """Start `argv` on a place (the login node) as `user`; the process is `argv` itself, in its own session.

        `env` is added to the user's own. Streams are `subprocess.Popen`'s, pipes unless told otherwise.
        """
        words = self.node(on).words(argv, user, cwd or self.shared)
        pipes: dict[str, object] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = {**self.environment(user), **(env or {})}
        return subprocess.Popen(words, env=environment, text=True, start_new_session=True, **(pipes | streams))  # type: ignore[call-overload, no-any-return]

    def run(
        self, argv: Sequence[str], *, feed: str | None = None, timeout: float = 60, **where: object
    ) -> subprocess.CompletedProcess[str]:
        """Run `argv` to its end and return what it printed; `where` as for `start`. Raises TimeoutExpired."""
        if feed is not None:
            where["stdin"] = subprocess.PIPE
        with self.start(argv, **where) as process:  # type: ignore[arg-type]
            try:
                out, err = process.communicate(feed, timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return subprocess.CompletedProcess(list(argv), process.returncode, out, err)

    def ask(self, *argv: str) -> str:
        """What a program of Slurm printed as root. Raises CalledProcessError with its words."""
        done = self.run(argv, user="root")
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, argv, done.stdout, done.stderr)
        return done.stdout

    def srun(self, *words: str, **where: object) -> subprocess.CompletedProcess[str]:
        """Run `srun words…`, in an allocation of its own unless told otherwise."""
        return self.run(["srun", "--input=none", *words], **where)  # type: ignore[arg-type]

    def submit(self, script: str, *options: str, **where: object) -> int:
        """Submit the text of a batch script, output below `shared`; returns the job's id. Raises AssertionError."""
        words = ["sbatch", "--parsable", f"--output={self.shared}/job-%j.out", *options]
        done = self.run(words, feed=script, **where)  # type: ignore[arg-type]
        assert done.returncode == 0, done.stderr
        return int(done.stdout.split(";")[0])

    def jobs(self) -> dict[int, str]:
        """Id → state of every job that Slurm remembers."""
        lines = self.ask("squeue", "--noheader", "--states=all", "--format=%A %T").splitlines()
        return {int(line.split()[0]): line.split()[1] for line in lines}

    def steps(self, job: int | None = None) -> list[Step]:
        """The running steps, of one job or of all, the batch step included."""
        which = [f"--jobs={job}"] if job is not None else []
        lines = self.ask("squeue", "--noheader", "--steps", *which, "--format=%i|%j|%N").splitlines()
        return [Step(*line.split("|")) for line in lines]

    def show(self, job: int) -> dict[str, str]:
        """What `scontrol show job` tells, by its keys."""
        return dict(re.findall(r"(\S+?)=(\S*)", self.ask("scontrol", "--oneliner", "show", "job", str(job))))

    def wait(self, job: int, *states: str, timeout: float = 60) -> str:
        """Wait until the job is in one of `states` (default: it is over); returns the state."""
        over = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE")
        return until(lambda: state if (state := self.jobs()[job]) in (states or over) else None, timeout)

    def resume(self) -> None:
        """Bring drained and down nodes back."""
        for node in self.nodes:
            # Slurm refuses the whole of a list in which one node is up.
            self.run(["scontrol", "update", f"nodename={node.name}", "state=resume"], user="root")

    def settled(self) -> None:
        """Wait until every node is idle: no job runs or is being cleaned up."""
        until(lambda: self._states() <= {"idle", "planned"} or None, 60)

    def _states(self) -> set[str]:
        """The states of the nodes; one that the scheduler has looked at is `planned` for a while."""
        done = self.run(["sinfo", "--noheader", "--partition=batch", "--format=%T"], user="root")
        return set(done.stdout.split()) or {done.stderr}

    def clear(self) -> None:
        """Cancel every job, wait until all nodes are idle, bringing back those that are not, and end what is left.

        `proctrack/linuxproc` loses a process whose parent ended before it; no later test is to meet its ports.
        """
        for node in self.nodes:
            self.revive(node.name)
        for job, state in self.jobs().items():
            if state in ("RUNNING", "PENDING", "SUSPENDED", "CONFIGURING"):
                self.ask("scancel", str(job))
        if any(state.startswith(("drain", "down")) for state in self._states()):
            self.resume()
        self.settled()
        until(lambda: self._emptied() or None)

    def _emptied(self) -> bool:
        """Whether users have no process left; those that they have are killed."""
        left = [pid for user in USERS for pid in self.processes(user)]
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    def kill(self, name: str) -> None:
        """kill -9 the slurmd of a node; its steps go on."""
        daemon = self.daemons.pop(name)
        daemon.kill()
        daemon.wait()

    def revive(self, name: str) -> None:
        """Start the slurmd of a node, where it is not running."""
        if name not in self.daemons:
            self.daemons[name] = self.node(name).daemon(["slurmd", "-D", "-N", name], self._conf)

    def reap(self) -> None:
        """Wait for the daemons and holders, which must have been told to end."""
        for daemon in self.daemons.values():
            daemon.wait(timeout=60)
        for place in self.places:
            place.holder.communicate(timeout=60)

    def processes(self, user: str | None = None) -> dict[int, list[str]]:
        """Process id → words of what runs on the testbed, of one user or of all; its daemons and holders left out."""
        own = {place.holder.pid for place in self.places} | {each.pid for each in self.daemons.values()}
        found = {}
        for pid in guard.members(self.root):
            try:
                mine = user is None or (Path("/proc") / str(pid)).stat().st_uid == USERS.get(user, 0)
                words = (Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0")[:-1]
            except OSError:
                continue
            if mine and pid not in own and words and not words[0].startswith((b"slurmstepd", b": slurmscriptd")):
                found[pid] = [word.decode(errors="replace") for word in words]
        return found

    @property
    def _conf(self) -> dict[str, str]:
        return {"SLURM_CONF": f"{self.root}/etc/slurm.conf"}

    def boot(self) -> None:
        """Start the daemons and wait until every node is idle."""
        key, munge = self.root / "munge/key", self.root / "munge"
        key.write_bytes(token_bytes(128))
        key.chmod(0o400)
        files = [f"--{kind}={munge}/{name}" for kind, name in _MUNGE.items()]
        self.daemons["munged"] = self.login.daemon(["munged", "--foreground", *files], {})
        until(lambda: (munge / "socket").is_socket() or None)
        self.daemons["slurmctld"] = self.login.daemon(["slurmctld", "-D"], self._conf)
        for node in self.nodes:
            self.revive(node.name)
        try:
            until(self._up)
        except AssertionError as error:
            message = "the testbed did not come up\n" + self.logs()
            raise RuntimeError(message) from error

    def logs(self, lines: int = 6) -> str:
        """The last lines of every daemon's log, for a message."""
        texts = [(path.name, path.read_text(errors="replace")) for path in sorted((self.root / "log").iterdir())]
        return "\n".join(f"== {name}\n" + "\n".join(text.splitlines()[-lines:]) for name, text in texts if text)

    def _up(self) -> bool | None:
        done = self.run(["sinfo", "--noheader", "--partition=batch", "--format=%D %T"], user="root")
        return done.stdout == f"{self.layout.nodes} idle\n" or None


T = TypeVar("T")
_MUNGE = {"socket": "socket", "key-file": "key", "log-file": "log", "pid-file": "pid", "seed-file": "seed"}


def until(ask: Callable[[], T | None], timeout: float = 30, every: float = 0.02) -> T:
    """Ask until the answer is not None and return it. Raises AssertionError when `timeout` seconds are over."""
    limit = time.monotonic() + timeout
    while (found := ask()) is None:
        assert time.monotonic() < limit, f"nothing in {timeout} s"
        time.sleep(every)
    return found
