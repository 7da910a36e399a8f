"""One user with the real program: home, ports, and the runs started from there."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

from launcher.run import proc
from launcher.run.sweep import leftovers
from tests.cli.program import Program

PATIENCE = 60.0
_OPENER = build_opener(ProxyHandler({}))


class Deployment(Program):
    """`launch` with a home and a `ports.shift` of its own."""

    def __init__(self, home: Path, shift: int) -> None:
        super().__init__(home)
        self.shift = shift
        self.started: list[subprocess.Popen[str]] = []

    @property
    def ports(self) -> tuple[str, str]:
        """The words that move every port."""
        return ("--set", f"ports.shift={self.shift}")

    @property
    def url(self) -> str:
        """The public URL."""
        return f"http://127.0.0.1:{8000 + self.shift}"

    def recipe(self, text: str, name: str = "mine.toml") -> str:
        """Writes a recipe; returns its path."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def up(self, *words: str, env: Mapping[str, str | None] | None = None) -> subprocess.CompletedProcess[str]:
        """`launch up` to its end."""
        return self("up", *words, *self.ports, env=env)

    def begin(self, *words: str, env: Mapping[str, str | None] | None = None) -> subprocess.Popen[str]:
        """`launch up` in a session of its own, left running."""
        process = self.start("up", *words, *self.ports, env=env)
        self.started.append(process)
        return process

    @property
    def runs(self) -> list[Path]:
        """Run directories, oldest first."""
        return sorted((self.home / "state" / "launch" / "runs").glob("*"), key=lambda path: path.stat().st_mtime)

    @property
    def run(self) -> Path:
        """The newest run directory."""
        return self.runs[-1]

    def events(self) -> list[dict[str, Any]]:
        """What the newest run has told so far."""
        try:
            lines = (self.run / "events.jsonl").read_text(encoding="ascii").splitlines()
        except (OSError, IndexError):
            return []
        return [json.loads(line) for line in lines if line.endswith("}")]

    def outcome(self) -> dict[str, Any]:
        """How the newest run ended."""
        found: dict[str, Any] = json.loads((self.run / "outcome.json").read_text(encoding="ascii"))
        return found

    def seen(self, event: str, **facts: Any) -> bool:
        """Whether the newest run has told such an event."""
        return any(
            found["event"] == event and all(found.get(key) == value for key, value in facts.items())
            for found in self.events()
        )

    def until(self, event: str, **facts: Any) -> None:
        """Returns once the newest run has told such an event."""
        until(lambda: self.seen(event, **facts), f"{event} {facts}")

    def pid(self, who: str) -> int:
        """Process of a step, of the `supervisor` or the `keeper` of the newest run."""
        for event in self.events():
            if event["event"] == "begin" and who in {"supervisor", "keeper"}:
                return int(event["pid" if who == "supervisor" else "keeper"])
            if event["event"] == "start" and event["step"] == who:
                return int(event["pid"])
        raise KeyError(who)

    def down(self) -> None:
        """Ends the newest run, of which nothing is left."""
        assert self("down", "last").returncode == 0
        assert self.left() == []
        assert self.outcome()["exit"] == 0

    def left(self) -> list[int]:
        """What of the newest run still lives."""
        return leftovers(str(self.run))

    def complete(self, prompt: str = "hello") -> dict[str, Any]:
        """One chat completion through the public port."""
        body = {"model": "tiny", "messages": [{"role": "user", "content": prompt}]}
        request = Request(
            f"{self.url}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with _OPENER.open(request, timeout=30) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def close(self) -> None:
        """Ends everything this deployment started, by the ids it knows."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        for run in self.runs:
            self("down", run.name)
            for pid in leftovers(str(run)):
                proc.send(pid, signal.SIGKILL)


def until(true: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """Returns once `true()` is; fails after `patience` seconds."""
    deadline = time.monotonic() + patience
    while not true():
        assert time.monotonic() < deadline, f"never came: {what}"
        time.sleep(0.02)


def ended(process: "subprocess.Popen[str]", patience: float = PATIENCE) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a process that is about to end."""
    out, err = process.communicate(timeout=patience)
    return process.returncode, out, err


def environ(pid: int) -> bytes:
    """A process's environment as the kernel shows it; empty where it has gone."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def cmdline(pid: int) -> list[str]:
    """A process's words as the kernel shows them."""
    return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes()).split("\0")[:-1]
