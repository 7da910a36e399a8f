"""A real registry on loopback (Debian's docker-registry), open or behind a password, and a proxy that misbehaves."""

import http.client
import json
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from tests.testbed.oci import Pusher
from tests.testbed.place import missing

USER, PASSWORD = "alice", "sesame-open"


@dataclass(frozen=True)
class Served:
    """A registry that runs; `host` is what a reference names."""

    host: str
    login: tuple[str, str] | None = None

    @property
    def pusher(self) -> Pusher:
        """Pushes to it."""
        return Pusher(f"http://{self.host}", self.login)


@contextmanager
def registry(folder: Path, *, password: bool = False, tls: bool = False) -> Iterator[Served]:
    """Starts one that keeps its images in `folder`; ends it. With `tls` it shows the certificate `folder/ca.crt`, which
    nobody else has signed.
    """
    if lacking := missing({"docker-registry": "docker-registry", "htpasswd": "apache2-utils"}):
        message = f"tests of registries need Debian's packages {' '.join(lacking)}"
        raise RuntimeError(message)
    port = _free()
    config: dict[str, Any] = {
        "version": 0.1,
        "log": {"level": "error", "accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}, "delete": {"enabled": True}},
        "http": {"addr": f"127.0.0.1:{port}"},
    }
    if password:
        words = ["htpasswd", "-Bbn", "-C", "4", USER, PASSWORD]
        (folder / "htpasswd").write_bytes(subprocess.run(words, capture_output=True, check=True).stdout)
        config["auth"] = {"htpasswd": {"realm": "testbed", "path": str(folder / "htpasswd")}}
    if tls:
        config["http"]["tls"] = {"certificate": str(folder / "ca.crt"), "key": str(folder / "key.pem")}
        _sign(folder)
    # JSON is YAML too.
    (folder / "config.yml").write_text(json.dumps(config))
    words = ["docker-registry", "serve", str(folder / "config.yml")]
    with (folder / "log").open("wb") as log, subprocess.Popen(words, stdout=log, stderr=log) as process:
        try:
            _await(port, process, folder / "log")
            yield Served(f"127.0.0.1:{port}", (USER, PASSWORD) if password else None)
        finally:
            process.terminate()


def _sign(folder: Path) -> None:
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    words += ["-subj", "/CN=testbed", "-addext", "subjectAltName=IP:127.0.0.1"]
    words += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "ca.crt")]
    subprocess.run(words, check=True, capture_output=True)


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _await(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.poll() is None:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=2)) as connection:
            try:
                connection.request("GET", "/v2/")
                connection.getresponse().read()
            except OSError:
                time.sleep(0.02)
            else:
                return
    message = f"docker-registry did not start: {log.read_text()}"
    raise RuntimeError(message)


@dataclass
class Fault:
    """What happens to requests whose `METHOD path` matches; `times` counts down, after which all is well."""

    match: str
    times: int = 1_000_000
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    stall: float = 0.0
    cut: int | None = None
    length: int | None = None
    spoil: bool = False
    drop: bool = False
    whole: bool = False
    """Whether it knows no ranges."""


@dataclass
class Proxy:
    """Stands before a registry and misbehaves as told. `seen` has every request: method, path, headers."""

    host: str
    faults: list[Fault] = field(default_factory=list)
    delay: float = 0.0
    bearer: bool = False
    """Whether it wants tokens, as registries on the internet do; its own `/token` gives them."""
    login: tuple[str, str] | None = None
    """Who gets tokens; None: anybody."""
    token: bytes = b""
    """What `/token` answers with instead."""
    seen: list[tuple[str, str, Mapping[str, str]]] = field(default_factory=list)

    def paths(self, method: str = "") -> list[str]:
        """Of the requests so far."""
        return [path for how, path, _ in self.seen if how.startswith(method)]


@contextmanager
def proxy(behind: str) -> Iterator[Proxy]:
    """A proxy to the registry at `behind` (host:port)."""
    handler = type("Handler", (_Handler,), {"behind": behind})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    made = Proxy(f"127.0.0.1:{server.server_address[1]}")
    handler.proxy = made  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    behind: str
    proxy: Proxy

    def do_GET(self) -> None:
        self._pass()

    def do_HEAD(self) -> None:
        self._pass()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        return

    def _pass(self) -> None:
        self.proxy.seen.append((self.command, self.path, dict(self.headers.items())))
        time.sleep(self.proxy.delay)
        if self.proxy.bearer and self._guarded():
            return
        fault = self._fault()
        time.sleep(fault.stall)
        if fault.drop:
            self.close_connection = True
            return
        if fault.status is not None:
            self._answer(fault.status, fault.headers, b"", fault)
            return
        connection = http.client.HTTPConnection(self.behind, timeout=20)
        dropped = {"host"} | ({"authorization"} if self.proxy.bearer else set()) | ({"range"} if fault.whole else set())
        headers = {name: value for name, value in self.headers.items() if name.lower() not in dropped}
        connection.request(self.command, self.path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        kept = {name: value for name, value in answer.getheaders() if name.lower() not in _OWN}
        if self.command == "HEAD":
            kept["Content-Length"] = answer.headers.get("content-length", "0")
        self._answer(answer.status, {**kept, **fault.headers}, body, fault)

    def _guarded(self) -> bool:
        """Answers in the registry's place: gives a token, or asks for one."""
        url = httpx.URL(f"http://{self.proxy.host}{self.path}")
        shown = self.headers.get("authorization", "")
        if url.path == "/token":
            login = self.proxy.login
            fine = login is None or shown == httpx.BasicAuth(*login)._auth_header
            token = {"token": f"for {url.params['scope']} at {url.params['service']}"}
            body = self.proxy.token or json.dumps(token if fine else {}).encode()
            self._answer(200 if fine else 401, {}, body, Fault(""))
            return True
        name = url.path.removeprefix("/v2/").rpartition("/")[0].rpartition("/")[0]
        scope = f"repository:{name}:pull"
        if shown == f"Bearer for {scope} at testbed":
            return False
        realm = f'Bearer realm="http://{self.proxy.host}/token",service="testbed",scope="{scope}"'
        self._answer(401, {"WWW-Authenticate": realm}, b"", Fault(""))
        return True

    def _fault(self) -> Fault:
        for fault in self.proxy.faults:
            if fault.times > 0 and re.search(fault.match, f"{self.command} {self.path}"):
                fault.times -= 1
                return fault
        return Fault("")

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes, fault: Fault) -> None:
        if fault.spoil and body:
            body = body[:-1] + bytes([body[-1] ^ 1])
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body) if fault.length is None else fault.length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body if fault.cut is None else body[: fault.cut])
        if fault.cut is not None or fault.length is not None:
            self.close_connection = True


_OWN = ("content-length", "connection", "date", "transfer-encoding")
