"""A stand-in for llm-d's EPP, for tests alone: it reads the same flags and files, refuses what the EPP refuses, and
answers Envoy over ext_proc. Not the EPP, and not for use.
"""

import asyncio
import json
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
from envoy.config.core.v3.base_pb2 import HeaderValue, HeaderValueOption
from envoy.service.ext_proc.v3 import external_processor_pb2 as messages
from envoy.type.v3.http_status_pb2 import HttpStatus
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from tests.llm_d.hearing import Heard, listen
from tests.llm_d.picking import Picker
from tests.llm_d.reading import configuration, endpoints
from tests.llm_d.tokens import Prompts
from tests.llm_d.words import Wrong, on, parse

SERVICE = "envoy.service.ext_proc.v3.ExternalProcessor"
OVERWRITE = HeaderValueOption.HeaderAppendAction.Value("OVERWRITE_IF_EXISTS_OR_ADD")


def prompt(body: bytes) -> str:
    """The prompt of a request; empty where it has none. Raises ValueError."""
    data = json.loads(body) if body else {}
    if "messages" in data:
        return "".join(f"{each.get('role')}: {each.get('content')}\n" for each in data["messages"])
    return str(data.get("prompt", ""))


class Processor:
    """The ext_proc service."""

    def __init__(self, picker: Picker) -> None:
        self.picker = picker

    async def process(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        """One HTTP request: headers and body are held until they are whole, then answered."""
        body, said = b"", dict[str, str]()
        async for message in requests:
            kind = message.WhichOneof("request")
            part = getattr(message, kind)
            if kind == "request_headers":
                said = {each.key: each.raw_value.decode("latin-1") for each in part.headers.headers}
                if not part.end_of_stream:
                    continue
            if kind == "request_body":
                body += part.body
                if not part.end_of_stream:
                    continue
            for answer in self.answers(kind, part, body, said):
                yield answer

    def answers(self, kind: str, part: Any, body: bytes, said: Mapping[str, str]) -> list[Any]:
        """What is said to a message that is whole; `said` are the request's headers."""
        if kind == "request_headers":
            return [self._steered(b"", said)]
        if kind == "request_body":
            steered = self._steered(body, said)
            return [steered, *([] if steered.HasField("immediate_response") else [_body("request_body", body)])]
        if kind == "response_headers":
            return [messages.ProcessingResponse(response_headers=messages.HeadersResponse())]
        if kind == "response_body":
            return [_body("response_body", part.body, end=part.end_of_stream)]
        return [messages.ProcessingResponse(**{kind: messages.TrailersResponse()})]

    def _steered(self, body: bytes, said: Mapping[str, str]) -> Any:
        try:
            endpoint, prefiller = self.picker.pick(prompt(body), said, body)
        except ValueError:
            return _refused(400, "the body is no JSON")
        if endpoint is None:
            return _refused(503, "no endpoint is left")
        named = {"x-gateway-destination-endpoint": endpoint.host}
        if prefiller is not None:
            named["x-prefiller-host-port"] = prefiller.host
        common = messages.CommonResponse(clear_route_cache=True)
        for name, value in named.items():
            header = HeaderValue(key=name, raw_value=value.encode())
            common.header_mutation.set_headers.append(HeaderValueOption(header=header, append_action=OVERWRITE))
        return messages.ProcessingResponse(request_headers=messages.HeadersResponse(response=common))


def _body(kind: str, body: bytes, *, end: bool = True) -> Any:
    streamed = messages.StreamedBodyResponse(body=body, end_of_stream=end)
    mutation = messages.BodyMutation(streamed_response=streamed)
    common = messages.CommonResponse(body_mutation=mutation)
    return messages.ProcessingResponse(**{kind: messages.BodyResponse(response=common)})


def _refused(status: int, said: str) -> Any:
    answer = messages.ImmediateResponse(status=HttpStatus(code=status), body=said.encode())
    return messages.ProcessingResponse(immediate_response=answer)


def metrics(port: int, name: str, ready: dict[str, int], heard: Heard) -> None:
    """Serves the gauge from now on, and what was heard of KV caches."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = f'# TYPE llm_d_epp_ready_endpoints gauge\nllm_d_epp_ready_endpoints{{name="{name}"}} {ready["n"]}\n'
            text += heard.text()
            self.send_response(200 if self.path == "/metrics" else 404)
            self.end_headers()
            self.wfile.write(text.encode() if self.path == "/metrics" else b"")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Says nothing."""

    server = ThreadingHTTPServer(("0.0.0.0", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()


def watch(picker: Picker, ready: dict[str, int], every: float) -> None:
    """Reads everybody's metrics for ever, and renews the gauge from time to time."""

    def look() -> None:
        renewed = 0.0
        while True:
            for endpoint in picker.endpoints:
                picker.scrape(endpoint)
            if time.monotonic() - renewed >= every:
                ready["n"], renewed = picker.ready(), time.monotonic()
            time.sleep(0.05)

    threading.Thread(target=look, daemon=True).start()


async def serve(flags: dict[str, str], picker: Picker) -> None:
    """Answers Envoy until it is told to end."""
    service = grpc.method_handlers_generic_handler(
        SERVICE,
        {
            "Process": grpc.stream_stream_rpc_method_handler(
                Processor(picker).process,
                request_deserializer=messages.ProcessingRequest.FromString,
                response_serializer=messages.ProcessingResponse.SerializeToString,
            )
        },
    )
    asked, checked = grpc.aio.server(), grpc.aio.server()
    asked.add_generic_rpc_handlers((service,))
    for server in (asked, checked) if on(flags, "health-checking") else (checked,):
        servicer = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
        for name in ("", SERVICE):
            await servicer.set(name, health_pb2.HealthCheckResponse.SERVING)
    asked.add_insecure_port(f"0.0.0.0:{flags.get('grpc-port', '9002')}")
    checked.add_insecure_port(f"0.0.0.0:{flags.get('grpc-health-port', '9003')}")
    await asked.start()
    await checked.start()
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    await told.wait()
    await asyncio.gather(asked.stop(0.1), checked.stop(0.1))


def agree(flags: dict[str, str]) -> None:
    """Refuses flags that the EPP refuses together, or at their values (`pkg/epp/server/options.go`). Raises Wrong."""
    if bool(flags.get("pool-name")) == bool(flags.get("endpoint-selector")):
        raise Wrong("either pool-name or endpoint-selector must be set")
    if "config-file" in flags and "config-text" in flags:
        raise Wrong("both the config-file and config-text flags cannot be set at the same time")
    for name in ("refresh-prometheus-metrics-interval", "metrics-staleness-threshold"):
        if flags.get(name, "1s").startswith(("0", "-")):
            raise Wrong(f"{name} must be positive, got {flags[name]}")
    if "metrics-client-ca-file" in flags and "metrics-cert-dir" not in flags:
        raise Wrong('"metrics-client-ca-file" requires "metrics-cert-dir"')
    if on(flags, "secure-serving", default=True):
        raise Wrong("this stand-in has no TLS")


def main(words: list[str]) -> int:
    """The program; returns its exit code."""
    try:
        flags = parse("epp", words)
    except Wrong as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 2
    try:
        agree(flags)
        text = Path(flags["config-file"]).read_text(encoding="utf-8")
        made = configuration(text, experimental=on(flags, "allow-experimental-plugins"))
        ready, heard = {"n": 0}, Heard()
        metrics(int(flags.get("metrics-port", "9090")), flags["pool-name"], ready, heard)
        listen(made, heard)
        picker = Picker(made, endpoints(made.endpoints.read_text(encoding="utf-8")), Prompts(made, heard).share)
    except (Wrong, KeyError, TypeError, ValueError, OSError) as wrong:
        sys.stderr.write(f"epp: {wrong}\n")
        return 1
    watch(picker, ready, float(flags.get("refresh-prometheus-metrics-interval", "5s").rstrip("s")))
    asyncio.run(serve(flags, picker))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
