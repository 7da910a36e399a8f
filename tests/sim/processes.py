"""The real programs on loopback, started by a test and ended by their ids."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
"""Seconds after which a test gives up waiting for what should come at once."""

WORKER = (sys.executable, "-m", "launcher.sim", "--host", "127.0.0.1", "--port", "0", "--served-model-name", "tiny")
T = TypeVar("T")
_PLACE = re.compile(r"on (?:http|grpc)://[^\s]*:(\d+)$", re.MULTILINE)


def until(look: Callable[[], T | None], what: str) -> T:
    """What `look` returns as soon as it is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited {PATIENCE:g} s for {what}")


def ports(count: int) -> list[int]:
    """Ports nobody has at this moment."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    numbers = [sock.getsockname()[1] for sock in held]
    for sock in held:
        sock.close()
    return numbers


@dataclass(frozen=True)
class Answer:
    """One answer as it was read, its body whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The data of a stream; `[DONE]` must end it and is left out."""
        texts = [text.removeprefix("data: ") for text in self.body.decode().split("\n\n") if text]
        assert texts[-1] == "[DONE]"
        return [json.loads(text) for text in texts[:-1]]


def ask(
    port: int,
    path: str,
    data: Any = None,
    headers: Mapping[str, str] | None = None,
    method: str = "",
    host: str = "127.0.0.1",
) -> Answer:
    """One request on a connection of its own: POST where there is `data` (bytes go as they are), else GET."""
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
    try:
        body = data if data is None or isinstance(data, bytes) else json.dumps(data).encode()
        kind = {} if data is None else {"content-type": "application/json"}
        connection.request(method or ("GET" if data is None else "POST"), path, body, {**kind, **(headers or {})})
        answer = connection.getresponse()
        return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    finally:
        connection.close()


@dataclass
class Program:
    """A program that runs, or ran; its output is in `log`."""

    process: subprocess.Popen[bytes]
    log: Path
    port: int

    @property
    def text(self) -> str:
        """What it has written."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Its exit code after the signal."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def wait(self) -> int:
        """Its exit code, when it ends of itself."""
        return self.process.wait(PATIENCE)

    def ask(self, path: str, data: Any = None, headers: Mapping[str, str] | None = None, method: str = "") -> Answer:
        """One request to it."""
        return ask(self.port, path, data, headers, method)

    def complete(self, prompt: Any = "a b c", **more: Any) -> Answer:
        """One completion of the model `tiny`."""
        return self.ask("/v1/completions", {"model": "tiny", "prompt": prompt, **more})

    def chat(self, text: str, **more: Any) -> Answer:
        """One chat completion of the model `tiny`."""
        return self.ask(
            "/v1/chat/completions", {"model": "tiny", "messages": [{"role": "user", "content": text}], **more}
        )

    def metrics(self) -> dict[str, float]:
        """Its metrics: name and labels as written → value."""
        return samples(self.ask("/metrics").body.decode())


def samples(text: str) -> dict[str, float]:
    """The samples of a Prometheus text; every line must be one, or a comment."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    parted = [re.fullmatch(r"([a-z0-9_:]+(?:\{[^{}]*\})?) (\S+)", line) for line in lines]
    assert None not in parted, lines
    return {found[1]: float(found[2]) for found in parted if found}


@dataclass
class Start:
    """Starts programs with their logs in `folder`; leaving it kills what still runs."""

    folder: Path
    programs: list[Program] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for program in self.programs:
            if program.process.poll() is None:
                program.process.kill()
        for program in self.programs:
            program.process.wait(PATIENCE)

    def __call__(self, *words: str, env: Mapping[str, str] | None = None, speaks: bool = True) -> Program:
        """A worker of the model `tiny` on a free port of loopback, once it listens (not `speaks`: once it loads)."""
        program = self.run([*WORKER, *words], env)

        def place() -> re.Match[str] | None:
            found = [line for line in program.text.splitlines() if not speaks or ", then speaks" not in line]
            assert found or program.process.poll() is None, program.text
            return _PLACE.search("\n".join(found))

        program.port = int(until(place, "the worker's first line")[1])
        return program

    def run(self, words: Sequence[str], env: Mapping[str, str] | None = None) -> Program:
        """Any program; nothing is waited for."""
        log = self.folder / f"{len(self.programs)}.log"
        kept = {name: os.environ[name] for name in ("PYTHONPYCACHEPREFIX",) if name in os.environ}
        clean = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8", **kept, **(env or {})}
        with log.open("wb") as out:
            process = subprocess.Popen(
                list(words),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=clean,
                cwd=ROOT,
                start_new_session=True,
            )
        program = Program(process, log, 0)
        self.programs.append(program)
        return program
