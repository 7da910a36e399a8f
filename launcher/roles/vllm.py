"""vLLM: `vllm serve`, one server a replica, a node or a data-parallel rank."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from launcher.model.given import Given
from launcher.model.job import Job, Role
from launcher.model.manifest import Metrics, Port
from launcher.roles.base import Endpoint, Net, Replica, Task, listened
from launcher.roles.command import flags, program
from launcher.roles.engine import CODES, HTTP, Engine, configured, events_twice, file, split, twice
from launcher.roles.ranks import Server, misfit
from launcher.roles.vllm_kv import EVENTS, MOONCAKE, NIXL, SCALE_OUT, TRANSFER, connectors, kinds, published, transfer
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


class Vllm(Engine):
    """Endpoints and steps follow from the formation of a replica's servers."""

    sizes: ClassVar[tuple[str, ...]] = (*WORLD, DATA)
    reads: ClassVar[frozenset[str]] = frozenset(("kv", "kv_events", "config"))
    codes: ClassVar[Mapping[str, str]] = {
        **CODES,
        "too-many-ranks": """A replica has more data-parallel ranks than it can have ports

Every rank listens on ports of its own, and of each kind a replica has at most 1000.""",
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
        yield from file(role)

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
        if role.kv is not None and given.table(TRANSFER):
            yield twice(role, given.at(TRANSFER), TRANSFER)
        if role.kv_events and given.table(EVENTS):
            yield events_twice(role, given.at(EVENTS), EVENTS)


def _task(servers: Servers, server: Server, net: Net) -> Task:
    replica = servers.replica
    ports = servers.ports(server)
    endpoint = net.endpoint(servers.name(server)) if server.api else None
    host = listened(endpoint, servers.ip(server))
    api = (f"--host={host}", f"--port={ports[HTTP]}") if server.api else ()
    words = (
        *program(replica, net, server.node),
        *(() if net.model is None else (net.model,)),
        *configured(replica.role),
        f"--served-model-name={net.served_name}",
        *api,
        *servers.balanced(server),
        *transfer(replica.role),
        *_published(servers, server, net, endpoint),
        *flags(replica.role),
    )
    return Task(
        words,
        servers.environment(server),
        servers.gates(server, net),
        (replica.nodes[server.node],),
        rank=server.index,
        gpus=server.gpus,
        ports=ports,
    )


def _published(servers: Servers, server: Server, net: Net, endpoint: Endpoint | None) -> Iterator[str]:
    """The words that make a server publish its KV events: where it is asked for them, or to who collects them."""
    role, port = servers.replica.role, servers.replica.ports.get(PUBLISH)
    url = (endpoint.proxy if endpoint else None) or servers.url(server)
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
