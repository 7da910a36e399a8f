"""A stand-in for llm-d's P/D sidecar, for tests alone: it has a prefill worker asked as `nixlv2` and `mooncake` do.

Not the sidecar, and not for use. It reads the same flags and, like the sidecar, ends with 0 at ones it does not know.
"""

import http.client
import json
import random
import signal
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.llm_d.words import Wrong, on, parse

PREFILLER = "x-prefiller-host-port"
_ASKED = {
    "do_remote_decode": True,
    "do_remote_prefill": False,
    **dict.fromkeys(("remote_engine_id", "remote_block_ids", "remote_host", "remote_port")),
}
_OWN = {"connection", "transfer-encoding", "content-length", "keep-alive", "host", PREFILLER}


class Handler(BaseHTTPRequestHandler):
    """One request, passed on to the worker at localhost."""

    protocol_version = "HTTP/1.1"
    worker: int = 0
    protocol: str = "nixlv2"
    bootstrap: int = 8998

    def do_GET(self) -> None:
        if self.path == "/health":
            self._say(200, b"{}")
        else:
            self._pass(b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0)) if self._sized() else self._chunks()
        prefiller = self.headers.get(PREFILLER)
        if not prefiller or not self.path.endswith("completions"):
            self._pass(body)
            return
        try:
            (self._mooncake if self.protocol == "mooncake" else self._nixl)(prefiller, json.loads(body))
        except OSError as error:
            self._say(502, str(error).encode())

    def _nixl(self, prefiller: str, whole: dict[str, Any]) -> None:
        """Prefill, then decode with what it said."""
        status, answer = _post(prefiller, self.path, _first(whole, _ASKED))
        if status >= 300:
            self._say(status, answer)
            return
        whole["kv_transfer_params"] = json.loads(answer).get("kv_transfer_params")
        self._pass(json.dumps(whole).encode())

    def _mooncake(self, prefiller: str, whole: dict[str, Any]) -> None:
        """Both at once, by a number of its own; decode is told the engine that the bootstrap server knows."""
        bootstrap = f"{prefiller.rpartition(':')[0]}:{self.bootstrap}"
        status, answer = _ask("GET", bootstrap, "/query", None, {})
        if status >= 300:
            self._say(502, f"bootstrap endpoint returned status {status}".encode())
            return
        rank, entry = random.choice(list(json.loads(answer).items()))
        transfer = f"xfer-{uuid.uuid4()}"
        asked = {"do_remote_prefill": False, "do_remote_decode": True, "transfer_id": transfer}
        first, headers = _first(whole, asked), {"x-data-parallel-rank": rank}
        threading.Thread(target=_post, args=(prefiller, self.path, first, headers), daemon=True).start()
        whole["kv_transfer_params"] = {
            "do_remote_prefill": True,
            "do_remote_decode": False,
            "transfer_id": transfer,
            "remote_bootstrap_addr": f"http://{bootstrap}",
            "remote_engine_id": entry["engine_id"],
        }
        self._pass(json.dumps(whole).encode())

    def _sized(self) -> bool:
        return "chunked" not in self.headers.get("transfer-encoding", "")

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _pass(self, body: bytes) -> None:
        """To the worker, and its answer back as it comes."""
        given = {name: value for name, value in self.headers.items() if name.lower() not in _OWN}
        worker = http.client.HTTPConnection("localhost", self.worker, timeout=60)
        try:
            worker.request(self.command, self.path, body or None, given)
            answer = worker.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in {*_OWN, "date", "server"}:
                    self.send_header(name, value)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            while piece := answer.read1(65536):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        except OSError as error:
            self._say(502, str(error).encode())
        finally:
            worker.close()

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Says nothing."""


def _first(whole: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """The request of the prefill worker: one token, at once."""
    first = {**whole, "stream": False, "max_tokens": 1, "kv_transfer_params": params}
    first.pop("stream_options", None)
    if "max_completion_tokens" in first:
        first["max_completion_tokens"] = 1
    return first


def _post(host: str, path: str, data: dict[str, Any], headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    said = {"content-type": "application/json", **(headers or {})}
    return _ask("POST", host, path, json.dumps(data).encode(), said)


def _ask(method: str, host: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
    asked = http.client.HTTPConnection(host, timeout=60)
    try:
        asked.request(method, path, body, headers)
        answer = asked.getresponse()
        return answer.status, answer.read()
    finally:
        asked.close()


def agree(flags: dict[str, str]) -> None:
    """Refuses values that the sidecar refuses (`pkg/sidecar/proxy/options.go`). Raises Wrong."""
    wide = int(flags.get("data-parallel-size", "1"))
    for name in ("port", "model-server-port", "mooncake-bootstrap-port", "p2p-connector-port"):
        if name in flags and not 1 <= int(flags[name]) <= 65536 - wide:
            raise Wrong(f"--{name} must be between 1 and 65535, got {flags[name]}")
    if int(flags.get("decode-chunk-size", "0")) < 0:
        raise Wrong("--decode-chunk-size must be a non-negative integer (0 disables chunked decode)")
    if on(flags, "enable-p2p-pull") and flags.get("kv-connector", "nixlv2") != "nixlv2":
        raise Wrong("--enable-p2p-pull requires --kv-connector=nixlv2")
    if on(flags, "enable-ssrf-protection") and not flags.get("inference-pool"):
        raise Wrong("--inference-pool flag is required when --enable-ssrf-protection is true")


def main(words: list[str]) -> int:
    """The program; returns its exit code."""
    try:
        flags = parse("pd-sidecar", words)
        agree(flags)
        if on(flags, "secure-proxy", default=True):
            raise Wrong("this stand-in has no TLS")
        if flags.get("kv-connector", "nixlv2") not in ("nixlv2", "mooncake"):
            raise Wrong(f"this stand-in knows no {flags['kv-connector']}")
    except Wrong as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 0
    Handler.protocol = flags.get("kv-connector", "nixlv2")
    Handler.bootstrap = int(flags.get("mooncake-bootstrap-port", "8998"))
    Handler.worker = int(flags.get("model-server-port", "8200"))
    server = ThreadingHTTPServer(("0.0.0.0", int(flags.get("port", "8000"))), Handler)
    server.daemon_threads = True
    signal.signal(signal.SIGTERM, lambda number, frame: threading.Thread(target=server.shutdown).start())
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
