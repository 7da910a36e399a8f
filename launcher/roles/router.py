"""What routers have in common: each is told every worker once, and asked whether it has them all.

Facts, of vllm-router 0.1.17, sglang-router 0.3.2 and smg 1.11 and 1.13. All URLs go into one `--worker-urls`: of two
the last alone counts for the first two. A URL has no slash at its end: sglang-router never registers such a worker,
smg calls it unhealthy for ever. The Prometheus port (29000) ends the router when it is busy, so it is allocated. They
must listen on every address, since other nodes call them; vllm-router listens on loopback unless told. Prefill and
decode are told by mode, each prefill worker with the bootstrap port that it listens on.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from launcher.model.job import Job, Role
from launcher.model.manifest import Port
from launcher.roles.base import Adapter, Endpoint, Handoff, Net, Replica, Scheme, Task, Wire
from launcher.roles.command import flags, gates, given, program
from launcher.text.diagnostic import Diagnostic, Label

Kind = tuple[Wire, Scheme]
"""What a worker speaks, and over what."""

CODES: Mapping[str, str] = {
    "engine-not-routed": """The router cannot be in front of this engine

A router knows what its own engine tells and how that engine hands over. In prefill and decode another engine's
workers are listed as ready and answer 200 while decode computes every prompt again (seen: vllm-router 0.1.17
before SGLang, sglang-router 0.3.2 before vLLM); in aggregate the router knows neither their model nor their load.
vLLM goes behind `vllm-router`, `smg` or `llm-d`, SGLang behind `sglang-router` or `smg`, TensorRT-LLM behind `smg`;
vLLM and SGLang over gRPC behind `smg` alone. TensorRT-LLM over gRPC goes behind none: it hands out no tokenizer, and
`smg` then answers every request with `tokenizer_load_failed`.""",
    "handoff-lost": """The router would not tell decode where prefill left the KV cache

Everything would report ready and answer 200, and decode would compute every prompt again. Over HTTP `smg`
sends vLLM workers no `kv_transfer_params` (1.11 and 1.13; over gRPC it does), `vllm-router` and `llm-d` do; for SGLang
`smg` and `sglang-router` pass the bootstrap port of the prefill worker, which then must have one. There is no
hand-off for TensorRT-LLM behind any of them.""",
    "engines-mixed": """Prefill and decode are different engines

The KV cache of one engine means nothing to another: both roles need the same role manifest.""",
}

RANKS: Mapping[str, str] = {
    "ranks-not-routed": """The router cannot address the workers' data-parallel ranks

vllm-router 0.1.17 is told one number of ranks for all workers (`--intra-node-data-parallel-size`) and believes
it: requests go to ranks that do not exist. sglang-router 0.3.2 writes a worker's rank behind its URL under
`dp-aware`, and in prefill and decode forgets to take it off: everything is ready, and every request fails, sent
to a host that does not exist. Without the flag the workers spread requests over their ranks themselves.""",
}
"""The page of routers that address ranks."""

_EVERYWHERE = "0.0.0.0"  # noqa: S104
_TIMEOUT = "worker-startup-timeout-secs"

_SERVE: Mapping[Kind, str] = {
    ("vllm", "http"): "`vllm-router`, `smg` or `llm-d`",
    ("vllm", "grpc"): "`smg`",
    ("sglang", "http"): "`sglang-router` or `smg`",
    ("sglang", "grpc"): "`smg`",
    ("trtllm", "http"): "`smg`",
}
_SILENT: Mapping[Wire, tuple[str, ...]] = {"trtllm": ("kv",)}
"""Keys by which an engine cannot be made to hand over."""

_HAND_OVER: Mapping[Kind, str] = {
    ("vllm", "http"): "`vllm-router` or `llm-d`",
    ("vllm", "grpc"): "`smg`",
    ("sglang", "http"): "`sglang-router` or `smg`",
    ("sglang", "grpc"): "`smg`",
}


class Router(Adapter):
    """One router; its workers are all endpoints of the plan.

    A subclass says what it can be in front of (`serves`), in prefill and decode too (`hands_over`: which way it
    passes on), its `switch` for prefill and decode, the `entries` of its list of workers, and its `own` words.
    """

    serves: ClassVar[frozenset[Kind]]
    hands_over: ClassVar[Mapping[Kind, Handoff]]
    switch: ClassVar[str] = "--pd-disaggregation"
    codes: ClassVar[Mapping[str, str]] = CODES

    def entries(self, role: Role, endpoints: tuple[Endpoint, ...]) -> Iterator[Endpoint]:
        """The endpoints as the router lists them: each once, or once for each of its data-parallel ranks."""
        yield from endpoints

    def own(self, role: Role, endpoints: tuple[Endpoint, ...]) -> tuple[str, ...]:
        """Words that only this router takes."""
        return ()

    def ports(self, role: Role, nodes: int = 1) -> Mapping[str, Port]:
        return {"http": Port(base=8000), "prometheus": Port(base=29000), **role.manifest.ports}

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        role = replica.role
        timeout = () if given(role, _TIMEOUT) else (f"--{_TIMEOUT}={math.ceil(net.timeout)}",)
        words = (
            *program(replica, net),
            f"--host={_EVERYWHERE}",
            f"--port={replica.ports['http']}",
            f"--prometheus-host={_EVERYWHERE}",
            f"--prometheus-port={replica.ports['prometheus']}",
            *_workers(net.endpoints, self.switch),
            *self.own(role, net.endpoints),
            *timeout,
            *flags(role),
        )
        # The manifest's gates count what the router lists.
        entries = tuple(self.entries(role, net.endpoints))
        return (Task(words, gates=gates(replica, replace(net, endpoints=entries))),)

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        kinds = {(each.wire, each.scheme): each for each in reversed(endpoints)}
        for kind, each in kinds.items():
            if kind not in self.serves:
                yield unrouted(worker(job, each), role, each)
        halves = [each for each in endpoints if each.mode != "aggregate"]
        wires = sorted({each.wire for each in halves})
        if len(wires) > 1:
            yield Diagnostic(
                code="engines-mixed",
                message=f"prefill and decode are different engines: {' and '.join(wires)}",
                place=worker(job, halves[-1]).place("manifest"),
                help="give `prefill` and `decode` the same role manifest",
            )
        served = (each for each in halves if (each.wire, each.scheme) in self.serves)
        lost = next((each for each in served if not self._passes(each)), None)
        if lost is not None:
            yield _lost(worker(job, lost), role, lost, grpc=(lost.wire, "grpc") in self.hands_over)

    def _passes(self, endpoint: Endpoint) -> bool:
        """Whether decode is told where the KV cache of this half is."""
        handoff = self.hands_over.get((endpoint.wire, endpoint.scheme))
        return handoff == endpoint.handoff and not _nowhere(endpoint)


def worker(job: Job, endpoint: Endpoint) -> Role:
    """The role that an endpoint belongs to."""
    return next(role for role in job.roles if role.name == endpoint.role)


def _nowhere(endpoint: Endpoint) -> bool:
    """A prefill worker to be asked at a bootstrap port that it does not have."""
    return endpoint.handoff == "bootstrap" and endpoint.mode == "prefill" and endpoint.bootstrap is None


def unrouted(role: Role, router: Role, endpoint: Endpoint) -> Diagnostic:
    """The finding that `router` cannot be in front of the worker role."""
    others = _SERVE.get((endpoint.wire, endpoint.scheme))
    return Diagnostic(
        code="engine-not-routed",
        message=f"{router.manifest.name} cannot be in front of {endpoint.wire} workers over {endpoint.scheme}",
        place=router.place("kind"),
        labels=(Label(role.place("manifest"), f"`{role.name}` speaks as {endpoint.wire} over {endpoint.scheme}"),),
        help=f"{others} can: say so in `kind`" if others else "no router can: let the workers serve HTTP",
    )


def _lost(role: Role, router: Role, endpoint: Endpoint, *, grpc: bool) -> Diagnostic:
    name, kind = router.manifest.name, (endpoint.wire, endpoint.scheme)
    aggregate = "serve aggregate with `[roles.worker]`"
    if _nowhere(endpoint):
        message = f"`{role.name}` has no bootstrap port at which {name} could send decode to it"
    elif endpoint.handoff == "none":
        message = f"`{role.name}` has no KV hand-off that {name} could pass on"
        if "kv" not in _SILENT.get(endpoint.wire, ()):
            aggregate = f'say `kv = "nixl"` in both roles, or {aggregate}'
    else:
        message = f"{name} passes no KV hand-off to {endpoint.wire} workers over {endpoint.scheme}"
        if kind in _HAND_OVER:
            over = "let both roles serve gRPC, or " if grpc and endpoint.scheme == "http" else ""
            aggregate = f"{_HAND_OVER[kind]} does: say so in `kind`, or {over}{aggregate}"
    return Diagnostic(
        "handoff-lost", f"{message}: decode would recompute every prompt", router.place("kind"), help=aggregate
    )


def _workers(endpoints: tuple[Endpoint, ...], switch: str) -> tuple[str, ...]:
    if all(endpoint.mode == "aggregate" for endpoint in endpoints):
        return ("--worker-urls", *(endpoint.url for endpoint in endpoints))
    words = [switch]
    for endpoint in endpoints:
        port = (str(endpoint.bootstrap),) if endpoint.bootstrap is not None else ()
        words += [f"--{endpoint.mode}", endpoint.url, *port]
    return tuple(words)
