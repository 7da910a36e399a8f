"""The simulated engine: vLLM's or SGLang's API and hand-off by `personality`, without a model or GPUs."""

import json
from collections.abc import Mapping
from types import MappingProxyType

from launcher.model.job import Role
from launcher.model.manifest import Port
from launcher.roles.base import Adapter, Endpoint, Handoff, Net, Replica, Task, Wire, listened
from launcher.roles.command import flags, gates, given, program
from launcher.run.script import ref

HTTP = "http"
BOOTSTRAP = "bootstrap"
SIDE_CHANNEL = "nixl"

# A range of ports for each worker leaves room for its data-parallel ranks.
_HTTP = Port(base=6100, step=32)

# Upstream's base; SGLang's own default, 8998, collides as soon as two prefill workers share a node.
_BOOTSTRAP = Port(base=7200)

# vLLM's own default is 5600 on every worker; rank r uses the r-th port from the first.
_SIDE_CHANNEL = 5400

_HANDOFFS: Mapping[Wire, Handoff] = MappingProxyType({"vllm": "kv_transfer_params", "sglang": "bootstrap"})

# As many ports as a `span` may have.
_MOST_RANKS = 1000

_CONNECTOR = json.dumps({"kv_connector": "NixlConnector", "kv_role": "kv_both"}, separators=(",", ":"))


class Sim(Adapter):
    """One server for each replica, on its first node, whatever the number of its GPUs."""

    def ports(self, role: Role, nodes: int = 1) -> Mapping[str, Port]:
        handoff: dict[str, Port] = {}
        if _handoff(role) == "bootstrap" and role.mode == "prefill":
            handoff[BOOTSTRAP] = _BOOTSTRAP
        if _handoff(role) == "kv_transfer_params":
            handoff[SIDE_CHANNEL] = Port(base=_SIDE_CHANNEL, span=_ranks(role))
        return {HTTP: _HTTP, **handoff, **role.manifest.ports}

    def endpoints(self, replica: Replica) -> tuple[Endpoint, ...]:
        role = replica.role
        if role.mode is None:
            return ()
        return (
            Endpoint(
                name=replica.name,
                role=role.name,
                url=f"http://{ref('ip', replica.nodes[0])}:{replica.ports[HTTP]}",
                mode=role.mode,
                wire=_wire(role),
                handoff=_handoff(role),
                ranks=_ranks(role),
                bootstrap=replica.ports.get(BOOTSTRAP),
                node=replica.nodes[0],
                connectors=("NixlConnector",) if _handoff(role) == "kv_transfer_params" else (),
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
            *flags(replica.role),
        )
        return (Task(words, _side_channel(replica, ip), gates(replica, net)),)


def _wire(role: Role) -> Wire:
    return "sglang" if role.flags.get("personality") == "sglang" else "vllm"


def _handoff(role: Role) -> Handoff:
    return "none" if role.mode in (None, "aggregate") else _HANDOFFS[_wire(role)]


def _ranks(role: Role) -> int:
    size = role.flags.get("dp-size")
    return size if isinstance(size, int) and 1 <= size <= _MOST_RANKS else 1


def _disaggregation(replica: Replica) -> tuple[str, ...]:
    handoff = _handoff(replica.role)
    if handoff == "kv_transfer_params":
        return (f"--kv-transfer-config={_CONNECTOR}",)
    if handoff == "none":
        return ()
    port = replica.ports.get(BOOTSTRAP)
    bootstrap = () if port is None else (f"--disaggregation-bootstrap-port={port}",)
    return (f"--disaggregation-mode={replica.role.mode}", *bootstrap)


def _side_channel(replica: Replica, ip: str) -> Mapping[str, str]:
    port = replica.ports.get(SIDE_CHANNEL)
    if port is None:
        return {}
    return {"VLLM_NIXL_SIDE_CHANNEL_HOST": ip, "VLLM_NIXL_SIDE_CHANNEL_PORT": str(port)}


ADAPTER = Sim()
