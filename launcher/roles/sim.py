"""The simulated engine: vLLM's or SGLang's API and hand-off by `personality`, without a model or GPUs."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from launcher.model.job import Role
from launcher.model.manifest import Port
from launcher.roles.base import Adapter, Endpoint, Handoff, Net, Replica, Task, Wire
from launcher.roles.command import flags, gates, program
from launcher.run.script import ref

HTTP = "http"
BOOTSTRAP = "bootstrap"

# A range of ports for each worker leaves room for its data-parallel ranks.
_HTTP = Port(base=6100, step=32)

# Upstream's base; SGLang's own default, 8998, collides as soon as two prefill workers share a node.
_BOOTSTRAP = Port(base=7200)

_HANDOFFS: Mapping[Wire, Handoff] = MappingProxyType({"vllm": "kv_transfer_params", "sglang": "bootstrap"})

_CONNECTOR = json.dumps({"kv_connector": "NixlConnector", "kv_role": "kv_both"}, separators=(",", ":"))


class Sim(Adapter):
    """One server for each replica, on its first node, whatever the number of its GPUs."""

    def ports(self, role: Role) -> Mapping[str, Port]:
        bootstrap = {BOOTSTRAP: _BOOTSTRAP} if _wire(role) == "sglang" and role.mode == "prefill" else {}
        return {HTTP: _HTTP, **bootstrap, **role.manifest.ports}

    def endpoints(self, replica: Replica) -> tuple[Endpoint, ...]:
        role = replica.role
        if role.mode is None:
            return ()
        wire = _wire(role)
        return (
            Endpoint(
                name=replica.name,
                role=role.name,
                url=f"http://{ref('ip', replica.nodes[0])}:{replica.ports[HTTP]}",
                mode=role.mode,
                wire=wire,
                handoff="none" if role.mode == "aggregate" else _HANDOFFS[wire],
                bootstrap=replica.ports.get(BOOTSTRAP),
            ),
        )

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        words = (
            *program(replica, net),
            f"--host={ref('ip', replica.nodes[0])}",
            f"--port={replica.ports[HTTP]}",
            f"--served-model-name={net.served_name}",
            *_disaggregation(replica),
            *flags(replica.role),
        )
        return (Task(words, gates=gates(replica, net)),)


def _wire(role: Role) -> Wire:
    personality = role.flags.get("personality", "vllm")
    return cast(Wire, personality) if personality in _HANDOFFS else "vllm"


def _disaggregation(replica: Replica) -> tuple[str, ...]:
    mode = replica.role.mode
    if mode is None or mode == "aggregate":
        return ()
    if _wire(replica.role) == "vllm":
        return (f"--kv-transfer-config={_CONNECTOR}",)
    port = replica.ports.get(BOOTSTRAP)
    return (f"--disaggregation-mode={mode}", *((f"--disaggregation-bootstrap-port={port}",) if port else ()))


ADAPTER = Sim()
