"""Real runs of small programs on loopback, and an inspection of what they leave that shares no code with ours."""

import os
import socket
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from launcher.execute import journal, local, status
from launcher.execute.journal import Contents, Run
from launcher.execute.world import Real
from launcher.run import lock
from launcher.run.script import Budgets, Child, Gate, Script, Stop, ref
from launcher.run.words import DETACH

LIMIT = 30.0
"""Seconds after which a test gives up; none of what it waits for takes as much as a second."""

INHERIT = ("PATH", "HOME", "LC_*")
FLAGS = ("-I", "-S", "-c")
HOST = "127.0.0.1"

SERVER = textwrap.dedent(
    """
    import os, signal, socket, sys
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    port, body = int(sys.argv[1]), sys.argv[2].encode()
    listener = socket.create_server(("127.0.0.1", port), backlog=100)
    while True:
        peer, _ = listener.accept()
        with peer:
            peer.recv(65536)
            head = b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\nConnection: close\\r\\n\\r\\n" % len(body)
            peer.sendall(head + body)
    """
)
"""Answers everything with 200 and its second argument."""

IDLE = "import time\nwhile True: time.sleep(3600)"
STUBBORN = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('deaf', flush=True)\n" + IDLE


def port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server((HOST, 0)) as listener:
        return int(listener.getsockname()[1])


def python(code: str, *words: str) -> tuple[str, ...]:
    """Words that run `code` with this interpreter."""
    return (sys.executable, *FLAGS, code, *words)


def child(name: str, argv: Sequence[str], **more: Any) -> Child:
    """A child of the role of its name that gets a third of a second to stop."""
    return Child(name, more.pop("role", name), tuple(argv), **{"stop": Stop(seconds=0.3), **more})


def server(name: str, number: int, body: str = "{}", **more: Any) -> Child:
    """A child that serves on a port and whose gate is that it does."""
    gates = more.pop("gates", (Gate("http", f"http://{ref('ip', 0)}:{number}/", every=0.02),))
    return child(name, python(SERVER, str(number), body), gates=gates, **more)


def shut(number: int) -> Gate:
    """A gate nobody opens."""
    return Gate("http", f"http://{HOST}:{number}/never", every=0.02)


def script(*children: Child, **more: Any) -> Script:
    """A Script of these children with tests' bounds."""
    whole = {"budgets": Budgets(ready=LIMIT, stop=5.0), "inherit": INHERIT, **more}
    return Script("test", ("run", "ip0"), children, **whole)


@dataclass
class Rig:
    """Starts runs in a state directory of its own and ends what a failed test left of them."""

    state: Path
    environ: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    runs: list[Run] = field(default_factory=list)

    @property
    def world(self) -> Real:
        return Real({**self.environ, "XDG_STATE_HOME": str(self.state)})

    def create(self, wanted: Script) -> Run:
        contents = Contents(wanted.name, "{}", wanted, local.slots(self.world, wanted))
        run = journal.create(self.world, contents)
        self.runs.append(run)
        return run

    def start(self, wanted: Script, interpreter: str = sys.executable) -> "Watched":
        """Starts a run; another interpreter is given the very words `local.start` uses."""
        run = self.create(wanted)
        if interpreter == sys.executable:
            local.start(self.world, run, wanted)
        else:
            env = local.environment(self.world.environ, run.path, wanted)
            ran = self.world.run((interpreter, "-I", str(run.path / journal.ARCHIVE), DETACH, str(run.path)), env)
            assert (ran.exit, ran.err) == (0, "")
        return Watched(self.world, run)

    def close(self) -> None:
        for run in self.runs:
            with suppress(FileNotFoundError):
                local.stop(self.world, run, hasten=True)


@dataclass
class Watched:
    """A started run."""

    world: Real
    run: Run

    @property
    def path(self) -> Path:
        return self.run.path

    def events(self, kind: str | None = None) -> list[status.Event]:
        return [event for event in status.Tail(self.run).read() if kind in (None, event["event"])]

    def event(self, kind: str, step: str | None = None) -> status.Event:
        """The first such event, waited for; the run ending before it is a failure."""
        deadline = time.monotonic() + LIMIT
        for event in self._happening():
            if event["event"] == kind and (step is None or event.get("step") == step):
                return event
            assert time.monotonic() < deadline
        raise AssertionError(f"no {kind} of {step}: {self.events()}")

    def _happening(self) -> Iterator[status.Event]:
        tail = status.Tail(self.run)
        while True:
            # Asked before reading: what a run wrote last is read after it has ended.
            live = lock.held(str(self.path))
            yield from tail.read()
            if not live:
                return
            self.world.pause(0.05)

    def pid(self, victim: str) -> int:
        """Process of a step, of the `supervisor` or of the `keeper`."""
        if victim in ("keeper", "supervisor"):
            begin = self.event("begin")
            return int(begin["pid" if victim == "supervisor" else "keeper"])
        return int(self.event("start", victim)["pid"])

    def ended(self) -> status.Status:
        """How the run ended; waits for it."""
        until(lambda: not lock.held(str(self.path)), "the lock is released")
        return status.status(self.run)

    def left(self) -> list[str]:
        return traces(self.path)


class Web(ThreadingHTTPServer):
    """A server inside the test: `answers` maps paths to status and body, `asked` has every request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((HOST, 0), _Handler)
        self.answers: dict[str, tuple[int, str]] = {}
        self.asked: list[tuple[str, str, str]] = []

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Web)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.server.asked.append((self.command, self.path, body))
        status, text = self.server.answers.get(self.path, (404, "no such page"))
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    do_POST = do_GET  # noqa: N815

    def log_message(self, *words: object) -> None:
        """Nothing: pytest shows what failed."""


def until(holds: Callable[[], bool], what: str) -> None:
    """Waits for what must come about."""
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline, f"in vain: {what}"
        time.sleep(0.01)


def traces(run: Path) -> list[str]:
    """Living processes that show the run in their environment, working directory or open files."""
    return [f"{pid}: {text}" for pid in _pids() for text in _traces(pid, str(run))]


def _traces(pid: int, run: str) -> Iterator[str]:
    with suppress(OSError):
        process = Path(f"/proc/{pid}")
        if (process / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] in "ZX":
            return
        if f"LAUNCH_RUN={run}".encode() in (process / "environ").read_bytes().split(b"\0"):
            yield "environment"
        for link in (process / "cwd", *(process / "fd").iterdir()):
            with suppress(OSError):
                place = str(link.readlink()).removesuffix(" (deleted)")
                if f"{place}/".startswith(f"{run}/"):
                    yield f"{link.name} is {link.readlink()}"


def environments() -> Mapping[int, bytes]:
    """Environment of every process that lets us see it."""
    found = {}
    for pid in _pids():
        with suppress(OSError):
            found[pid] = Path(f"/proc/{pid}/environ").read_bytes()
    return found


def _pids() -> list[int]:
    return [int(name.name) for name in Path("/proc").iterdir() if name.name.isdigit()]
