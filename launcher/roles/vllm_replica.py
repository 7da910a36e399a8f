"""One replica of vLLM: what each of its servers is told, listens on and is asked.

Facts of vLLM 0.20 to 0.33 (`entrypoints/cli/serve.py`, `engine/arg_utils.py`, `config/parallel.py`). A server without
an API is `--headless`; it must be so exactly where load is balanced neither by node (`--data-parallel-hybrid-lb`) nor
by rank (`--data-parallel-rank`), and a start rank without `--headless` means hybrid. Ranks larger than a node are one
group of all nodes (`--nnodes`, `--node-rank`, `--master-addr`). With `--grpc` a server speaks gRPC on `--port` in the
place of HTTP: no `/health`, no `/metrics`. `VLLM_PORT` is where a search for free ports begins: servers on one node
need their own, and those of several nodes none (they agree on ports otherwise). Nor do several ranks of one server that
share no experts: each is a process that searches for itself, all at once from the same port, and lets go of what it
finds until it is used seconds later (0.20 `v1/executor/multiproc_executor.py:127`, `v1/engine/core.py:1099`; 0.33 has
a file in its place). `VLLM_HOST_IP` is the address that other nodes are told.
"""

from collections.abc import Iterator
from dataclasses import replace

from launcher.model.given import Given
from launcher.model.job import Role
from launcher.roles.base import Handoff, Net, Replica, Scheme
from launcher.roles.command import gates
from launcher.roles.engine import HTTP
from launcher.roles.ranks import Server, Shape, formation
from launcher.roles.vllm_kv import NIXL, kinds
from launcher.run.script import Gate, ref

RPC, MASTER, SCAN, PUBLISH, BOOTSTRAP = "rpc", "master", "scan", "kv_events", "bootstrap"
DATA = "data-parallel-size"
WORLD = ("tensor-parallel-size", "pipeline-parallel-size", "prefill-context-parallel-size")
STRIDE = 50
"""Ports from one server's search for free ones to the next."""


def shape(given: Given) -> Shape:
    """The sizes that a role gives vLLM."""
    world = 1
    for name in WORLD:
        world *= max(given.number(name), 1)
    data = max(given.number(DATA), 1)
    return Shape(data, world, given.on("data-parallel-external-lb") and data > 1)


def scheme(given: Given) -> Scheme:
    """What servers of a role speak."""
    return "grpc" if given.on("grpc") else "http"


def handoff(role: Role, given: Given) -> Handoff:
    """How a half of a request is handed over."""
    if role.mode in (None, "aggregate"):
        return "none"
    return "kv_transfer_params" if kinds(given) else "none"


class Servers:
    """The servers of one replica."""

    def __init__(self, replica: Replica) -> None:
        self.replica = replica
        self.given = Given(replica.role)
        self.shape = shape(self.given)
        self.scheme = scheme(self.given)
        formed = formation(self.shape, len(replica.nodes), replica.gpus, spread=replica.spread == "node")
        self.balance = formed.balance
        self.all = formed.servers

    def name(self, server: Server) -> str:
        """The name of the server's step."""
        return f"{self.replica.name}-rank{server.index}" if server.index else self.replica.name

    def ip(self, server: Server) -> str:
        """The address of the server's node."""
        return ref("ip", self.replica.nodes[server.node])

    def url(self, server: Server) -> str:
        """Where a router calls it."""
        return f"{self.scheme}://{self.ip(server)}:{self.replica.ports[HTTP] + server.turn}"

    def ports(self, server: Server) -> dict[str, int]:
        """The ports that the server listens on: the first of each kind that is its own."""
        given, found = self.replica.ports, {}
        if server.api:
            found = {name: given[name] + server.turn for name in (HTTP, BOOTSTRAP) if name in given}
        # Every rank has its own, counted from 0 through all nodes; of a rank on several nodes the first listens.
        if server.local:
            found |= {name: given[name] + server.start for name in (NIXL, PUBLISH) if name in given}
        if server.index == 0:
            found |= {name: given[name] for name in (RPC, MASTER) if name in given}
        return found

    def balanced(self, server: Server) -> Iterator[str]:
        """The words that say which ranks the server has, and where the first one is."""
        head, ports = ref("ip", self.replica.nodes[0]), self.replica.ports
        if self.balance == "nodes":
            yield f"--nnodes={len(self.replica.nodes)}"
            yield f"--node-rank={server.node}"
            yield f"--master-addr={head}"
            yield f"--master-port={ports[MASTER]}"
        if self.balance == "external":
            yield f"--data-parallel-rank={server.start}"
        if self.balance in ("headless", "hybrid"):
            yield f"--data-parallel-size-local={server.local}"
        if self.balance == "hybrid" or (self.balance == "headless" and not server.api):
            yield f"--data-parallel-start-rank={server.start}"
        if RPC in ports:
            yield f"--data-parallel-address={head}"
            yield f"--data-parallel-rpc-port={ports[RPC]}"
        if self.balance == "hybrid":
            yield "--data-parallel-hybrid-lb"
        if not server.api:
            yield "--headless"

    def environment(self, server: Server) -> dict[str, str]:
        """The variables the server is told its addresses by."""
        ip, ports = self.ip(server), self.replica.ports
        found = {"VLLM_HOST_IP": ip}
        if NIXL in ports:
            # vLLM itself adds the number of the rank.
            found |= {"VLLM_NIXL_SIDE_CHANNEL_HOST": ip, "VLLM_NIXL_SIDE_CHANNEL_PORT": str(ports[NIXL])}
        if BOOTSTRAP in ports and server.api:
            found["VLLM_MOONCAKE_BOOTSTRAP_PORT"] = str(ports[BOOTSTRAP] + server.turn)
        if SCAN in ports:
            found["VLLM_PORT"] = str(ports[SCAN] + STRIDE * server.turn)
        return found

    def gates(self, server: Server, net: Net) -> tuple[Gate, ...]:
        """What must hold once the server is up."""
        if not server.api:
            return ()
        own = replace(self.replica, ports={**self.replica.ports, **self.ports(server)})
        if self.scheme == "grpc":
            return (Gate("tcp", f"tcp://{self.ip(server)}:{own.ports[HTTP]}"),)
        return gates(own, net, server.node)
