"""vLLM: `vllm serve`, one server a replica, a node or a data-parallel rank."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from launcher.model.given import Given
from launcher.model.job import Job, Role
from launcher.model.manifest import Metrics, Port
from launcher.roles.base import Endpoint, Net, Replica, Task, listened
from launcher.roles.base import nodes as nodes_of
from launcher.roles.command import flags, program
from launcher.roles.engine import CODES, HTTP, Engine, configured, events_twice, file, split, twice
from launcher.roles.ranks import Server, Shape, formation, misfit
from launcher.roles.said import EVENTS
from launcher.roles.vllm_kv import MOONCAKE, NIXL, SCALE_OUT, TRANSFER, connectors, kinds, published, transfer
from launcher.roles.vllm_replica import (
    BOOTSTRAP,
    DATA,
    MASTER,
    PUBLISH,
    RPC,
    SCAN,
    STRIDE,
    WORLD,
    Servers,
    handoff,
    scheme,
    shape,
)
from launcher.run.script import File
from launcher.text.diagnostic import Diagnostic

_MOST = 1000
"""As many ports as one may span."""

SERVING = ("grpc", "api-server-count")
"""What only a server with an API is told: with `--grpc` vLLM does not read `--headless`, and with API servers beside it
it ends (0.32 `entrypoints/cli/serve.py`).
"""
EXECUTOR, BACKEND = "distributed-executor-backend", "data-parallel-backend"
_EXECUTORS = (None, "mp", "uni", "external_launcher")


class Vllm(Engine):
    """Endpoints and steps follow from the formation of a replica's servers."""

    sizes: ClassVar[tuple[str, ...]] = (*WORLD, DATA)
    reads: ClassVar[frozenset[str]] = frozenset(("kv", "kv_events", "config"))
    codes: ClassVar[Mapping[str, str]] = {
        **CODES,
        "too-many-ranks": """A replica has more data-parallel ranks than it can have ports

Every rank listens on ports of its own, and of each kind a replica has at most 1000.""",
        "spread-by-another": """Two would spread vLLM's ranks over nodes

The launcher starts a server on each node of a replica, or for each rank. Ray would do that itself, and there is none:
vLLM ends where it is told of both (0.32 `engine/arg_utils.py:2349`, `config/parallel.py:1084`), or waits for ever.

    [roles.worker]
    gpus = 16                              # two nodes
    flags = { tensor-parallel-size = 16 }""",
    }

    def ports(self, role: Role, nodes: int = 1) -> Mapping[str, Port]:
        given = Given(role)
        sizes, ways = shape(given), kinds(given)
        ranks = min(sizes.data, _MOST)
        servers = ranks if sizes.external else 1
        found = {HTTP: Port(base=6100, step=32, span=servers)}
        if NIXL in ways:
            found[NIXL] = Port(base=5400, span=ranks)
        if MOONCAKE in ways and role.mode == "prefill":
            found[BOOTSTRAP] = Port(base=7200, span=servers)
        if role.kv_events:
            found[PUBLISH] = Port(base=5550, span=ranks)
        if sizes.data > 1 and (sizes.external or nodes > 1):
            found[RPC] = Port(base=8400)
        if nodes > 1 and not sizes.external and (sizes.data == 1 or sizes.world > role.gpus // nodes):
            found[MASTER] = Port(base=29501)
        if nodes == 1 and (servers == ranks or given.on("enable-expert-parallel")):
            found[SCAN] = Port(base=20000, step=STRIDE, span=min(STRIDE * servers, _MOST))
        return {**found, **role.manifest.ports}

    def steps(self, replica: Replica) -> int:
        return len(Servers(replica).all)

    def metrics(self, role: Role) -> Metrics | None:
        return None if scheme(Given(role)) == "grpc" else role.manifest.metrics

    def endpoints(self, replica: Replica) -> tuple[Endpoint, ...]:
        role, servers = replica.role, Servers(replica)
        if role.mode is None:
            return ()
        served = [server for server in servers.all if server.api]
        return tuple(
            Endpoint(
                name=servers.name(server),
                role=role.name,
                url=servers.url(server),
                mode=role.mode,
                wire="vllm",
                scheme=servers.scheme,
                handoff=handoff(role, servers.given),
                ranks=servers.shape.data if len(served) == 1 else server.local,
                first=server.start,
                bootstrap=servers.ports(server).get(BOOTSTRAP),
                node=replica.nodes[server.node],
                connectors=connectors(servers.given),
            )
            for server in served
        )

    def files(self, role: Role, net: Net) -> Iterator[File]:
        yield from file(_told(role))

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        servers = Servers(replica)
        return tuple(_task(servers, server, net) for server in servers.all)

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        yield from super().check(job, role, endpoints)
        given = Given(role)
        sizes = shape(given)
        reason = misfit(sizes, role.gpus, job.cluster.node.gpus) if role.gpus == sizes.gpus else None
        if reason is not None:
            yield split(role, given, reason, self.sizes)
        if sizes.data > _MOST:
            message = f"{sizes.data} data-parallel ranks in a replica are too many"
            yield Diagnostic("too-many-ranks", message, role.place(*given.at(DATA)), help=f"use at most {_MOST}")
        yield from _spread(job, role, given, sizes)
        if role.kv is not None and given.table(TRANSFER):
            yield twice(role, given.at(TRANSFER), TRANSFER)
        if role.kv_events and given.table(EVENTS):
            yield events_twice(role, given.at(EVENTS), EVENTS)


def _spread(job: Job, role: Role, given: Given, sizes: Shape) -> Iterator[Diagnostic]:
    """Findings of who else would start servers, where a replica has several."""
    if role.gpus != sizes.gpus:
        return
    count = nodes_of(role, job.cluster.node.gpus)
    formed = formation(sizes, count, tuple(range(role.gpus // count)), spread=job.router.manifest.urls == "node")
    refused = {
        EXECUTOR: formed.balance == "nodes" and given.value(EXECUTOR) not in _EXECUTORS,
        BACKEND: len(formed.servers) > 1 and given.value(BACKEND) not in (None, "mp"),
    }
    for name in (name for name, refuses in refused.items() if refuses):
        message = f"the launcher starts the servers of `{role.name}`, not `{given.value(name)}`"
        yield Diagnostic("spread-by-another", message, role.place(*given.at(name)), help="use `mp`, or take it out")


def _told(role: Role, api: bool = True) -> Role:
    """The role as a server is told of it: the file, which all read, has nothing that is for those with an API alone."""
    given = Given(role)
    keys = {key: given.value(key) for name in SERVING if (key := given.key(name)) is not None}
    flags = {**{key: value for key, value in keys.items() if key not in role.flags}, **role.flags}
    if not api:
        flags = {key: value for key, value in flags.items() if key not in keys}
    return replace(role, flags=flags, config={key: role.config[key] for key in role.config if key not in keys})


def _task(servers: Servers, server: Server, net: Net) -> Task:
    replica = servers.replica
    told = _told(replica.role, server.api)
    ports = servers.ports(server)
    endpoint = net.endpoint(servers.name(server)) if server.api else None
    host = listened(endpoint, servers.ip(server))
    api = (f"--host={host}", f"--port={ports[HTTP]}") if server.api else ()
    words = (
        *program(replica, net, server.node),
        *(() if net.model is None else (net.model,)),
        *configured(told),
        f"--served-model-name={net.served_name}",
        *api,
        *servers.balanced(server),
        *transfer(told),
        *_published(servers, server, net, endpoint),
        *flags(told),
    )
    return Task(
        words,
        servers.environment(server),
        servers.gates(server, net),
        (replica.nodes[server.node],),
        rank=server.index,
        gpus=server.gpus,
        ports=ports,
        spans={name: server.local for name in (NIXL, PUBLISH) if name in ports and server.local > 1},
    )


def _published(servers: Servers, server: Server, net: Net, endpoint: Endpoint | None) -> Iterator[str]:
    """The words that make a server publish its KV events: where it is asked for them, or to who collects them."""
    role, port = servers.replica.role, servers.replica.ports.get(PUBLISH)
    # Ranks without an API are asked through the first server.
    url = (endpoint.proxy if endpoint else None) or servers.url(server if server.api else servers.all[0])
    if not server.local:
        return
    if role.kv_events and net.collector is not None:
        # vLLM adds the number of its rank to the port.
        host, _, number = net.collector.rpartition(":")
        yield from published(f"{host}:{int(number) - server.start}", url, net.served_name)
    elif role.kv_events and port is not None:
        yield from published(f"tcp://*:{port}", url, net.served_name)
    renders = net.renderer is not None and net.renderer == endpoint
    if renders and servers.given.catalogue.find(SCALE_OUT) and servers.given.key(SCALE_OUT) is None:
        yield f"--{SCALE_OUT}"


ADAPTER = Vllm()
