"""The simulated engine: vLLM's or SGLang's API and hand-off by `personality`, without a model or GPUs."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import ClassVar

from launcher.model.given import Given
from launcher.model.job import Job, Role
from launcher.model.manifest import Metrics, Port
from launcher.roles.base import Adapter, Endpoint, Handoff, Net, Replica, Scheme, Task, Wire, listened
from launcher.roles.command import flags, gates, given, program
from launcher.roles.rehearsal import CODES
from launcher.roles.vllm_kv import MOONCAKE, NIXL, connectors, published, transfer
from launcher.run.script import Gate, ref
from launcher.text.diagnostic import Diagnostic

HTTP = "http"
BOOTSTRAP = "bootstrap"
SIDE_CHANNEL = "nixl"
PUBLISH = "kv_events"

# A range of ports for each worker leaves room for its data-parallel ranks.
_HTTP = Port(base=6100, step=32)

# Upstream's base; SGLang's own default, 8998, collides as soon as two prefill workers share a node.
_BOOTSTRAP = Port(base=7200)

# vLLM's own default is 5600 on every worker; rank r uses the r-th port from the first.
_SIDE_CHANNEL = 5400

# The base of the engines themselves.
_PUBLISH = 5550

_WIRES: Mapping[str, Wire] = MappingProxyType({"vllm": "vllm", "sglang": "sglang", "trtllm": "trtllm"})
_HANDOFFS: Mapping[Wire, Handoff] = MappingProxyType(
    {"vllm": "kv_transfer_params", "sglang": "bootstrap", "trtllm": "none"}
)
_SILENT = "trtllm"
"""The personality that has neither a hand-over nor KV events, and whose gRPC is not simulated."""

# As many ports as a `span` may have.
_MOST_RANKS = 1000


class Sim(Adapter):
    """One server for each replica, on its first node, whatever the number of its GPUs."""

    reads: ClassVar[frozenset[str]] = frozenset(("kv", "kv_events"))
    codes: ClassVar[Mapping[str, str]] = CODES

    def ports(self, role: Role, nodes: int = 1) -> Mapping[str, Port]:
        handoff: dict[str, Port] = {}
        if role.mode == "prefill" and (_handoff(role) == "bootstrap" or _mooncake(role)):
            handoff[BOOTSTRAP] = _BOOTSTRAP
        if _connected(role) and not _mooncake(role):
            handoff[SIDE_CHANNEL] = Port(base=_SIDE_CHANNEL, span=_ranks(role))
        if role.kv_events:
            handoff[PUBLISH] = Port(base=_PUBLISH, span=_ranks(role))
        return {HTTP: _HTTP, **handoff, **role.manifest.ports}

    def metrics(self, role: Role) -> Metrics | None:
        return role.manifest.metrics if _scheme(role) == "http" else None

    def endpoints(self, replica: Replica) -> tuple[Endpoint, ...]:
        role = replica.role
        if role.mode is None:
            return ()
        return (
            Endpoint(
                name=replica.name,
                role=role.name,
                url=_url(replica),
                mode=role.mode,
                wire=_wire(role),
                scheme=_scheme(role),
                handoff=_handoff(role),
                ranks=_ranks(role),
                bootstrap=replica.ports.get(BOOTSTRAP),
                node=replica.nodes[0],
                connectors=connectors(Given(_handing(role))) if _connected(role) else (),
            ),
        )

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        ip = ref("ip", replica.nodes[0])
        words = (
            *program(replica, net),
            *(() if net.model is None else (f"--model={net.model}",)),
            f"--served-model-name={net.served_name}",
            f"--host={listened(net.endpoint(replica.name), ip)}",
            f"--port={replica.ports[HTTP]}",
            # Its answers say which worker they are from.
            *(() if given(replica.role, "name") else (f"--name={replica.name}",)),
            *_disaggregation(replica),
            *_published(replica, net),
            *flags(replica.role),
        )
        port = Gate("tcp", f"tcp://{ip}:{replica.ports[HTTP]}")
        asked = gates(replica, net) if _scheme(replica.role) == "http" else (port,)
        ranks = _ranks(replica.role)
        spans = {name: ranks for name in (SIDE_CHANNEL, PUBLISH) if name in replica.ports and ranks > 1}
        return (Task(words, _side_channel(replica, ip), asked, spans=spans),)

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        said = {("kv",): role.kv, ("kv_events",): role.kv_events, ("flags", "grpc"): role.flags.get("grpc")}
        for path in [path for path, value in said.items() if value] if _wire(role) == _SILENT else ():
            what = f"`{path[-1]}` of TensorRT-LLM"
            yield _unsimulated(role, path, what, "take it out, or choose another `personality`")


def _unsimulated(role: Role, path: tuple[str, ...], what: str, advice: str) -> Diagnostic:
    return Diagnostic("not-simulated", f"nothing simulates {what}", role.place(*path, part="key"), help=advice)


def _wire(role: Role) -> Wire:
    return _WIRES.get(str(role.flags.get("personality")), "vllm")


def _scheme(role: Role) -> Scheme:
    return "grpc" if role.flags.get("grpc") is True else "http"


def _url(replica: Replica) -> str:
    return f"{_scheme(replica.role)}://{ref('ip', replica.nodes[0])}:{replica.ports[HTTP]}"


def _handing(role: Role) -> Role:
    """The role, in which the hand-over is said."""
    return replace(role, kv=role.kv or NIXL)


def _mooncake(role: Role) -> bool:
    return _wire(role) == "vllm" and role.kv == MOONCAKE


def _connected(role: Role) -> bool:
    """Whether the workers have vLLM's connector: in prefill and decode always, else where `kv` asks for it."""
    return _wire(role) == "vllm" and (_handoff(role) != "none" or role.kv is not None)


def _handoff(role: Role) -> Handoff:
    return "none" if role.mode in (None, "aggregate") else _HANDOFFS[_wire(role)]


def _ranks(role: Role) -> int:
    size = role.flags.get("dp-size")
    return size if isinstance(size, int) and 1 <= size <= _MOST_RANKS else 1


def _disaggregation(replica: Replica) -> tuple[str, ...]:
    handoff = _handoff(replica.role)
    if _connected(replica.role):
        return transfer(_handing(replica.role))
    if handoff == "none":
        return ()
    port = replica.ports.get(BOOTSTRAP)
    bootstrap = () if port is None else (f"--disaggregation-bootstrap-port={port}",)
    return (f"--disaggregation-mode={replica.role.mode}", *bootstrap)


def _side_channel(replica: Replica, ip: str) -> Mapping[str, str]:
    if _mooncake(replica.role) and BOOTSTRAP in replica.ports:
        return {"VLLM_MOONCAKE_BOOTSTRAP_PORT": str(replica.ports[BOOTSTRAP])}
    port = replica.ports.get(SIDE_CHANNEL)
    if port is None:
        return {}
    return {"VLLM_NIXL_SIDE_CHANNEL_HOST": ip, "VLLM_NIXL_SIDE_CHANNEL_PORT": str(port)}


def _published(replica: Replica, net: Net) -> tuple[str, ...]:
    """The words that make a worker publish its KV events, as those of the engine it passes for."""
    port = replica.ports.get(PUBLISH)
    if port is None:
        return ()
    endpoint = net.endpoint(replica.name)
    url = (endpoint.proxy if endpoint else None) or _url(replica)
    if _wire(replica.role) == "vllm":
        renders = ("--render",) if net.renderer is not None and net.renderer == endpoint else ()
        return (*published(net.collector or f"tcp://*:{port}", url, net.served_name), *renders)
    topic = f"kv@{url.partition('://')[2]}@{net.served_name}"
    table = {"publisher": "zmq", "endpoint": f"tcp://*:{port}", "topic": topic}
    return (f"--kv-events-config={json.dumps(table, separators=(',', ':'), ensure_ascii=False)}",)


ADAPTER = Sim()
