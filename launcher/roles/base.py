"""What an adapter is: how one kind of role becomes ports, endpoints and commands."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, Literal

from launcher.model.job import Job, Mode, Role
from launcher.model.manifest import Metrics, Port
from launcher.run.record import record
from launcher.run.script import File, Gate
from launcher.text.diagnostic import Diagnostic

Wire = Literal["vllm", "sglang", "trtllm"]
Scheme = Literal["http", "grpc"]
Handoff = Literal["none", "kv_transfer_params", "bootstrap"]
_EVERYWHERE = "0.0.0.0"  # noqa: S104
Spread = Literal["replica", "node"]
"""Whom a data-parallel replica on several nodes shows the router: one URL for all, or one of each node."""


@record
class Endpoint:
    """One address a router may call. Routers judge this, never another adapter's name.

    `url` holds late references (`http://{ip0}:6100`); `ranks` is how many data-parallel ranks stand
    behind it, and `first` the number of the first of them; `bootstrap` the port of a prefill worker's bootstrap
    server where it has one. `node` is the index of its node, `connectors` are the KV connectors of its engine, those
    inside of others too. `proxy` is the URL of what stands before it, which the router then calls in its place.
    """

    name: str
    role: str
    url: str
    mode: Mode
    wire: Wire
    scheme: Scheme = "http"
    handoff: Handoff = "none"
    ranks: int = 1
    first: int = 0
    bootstrap: int | None = None
    node: int = 0
    connectors: tuple[str, ...] = ()
    proxy: str | None = None


@record
class Replica:
    """One replica placed: `nodes` are node indices of the allocation, `gpus` the device numbers it has on
    each of them, `ports` its ports by name, each the same number on all of its nodes. `spread` is what its router
    wants to see of it.
    """

    role: Role
    index: int
    name: str
    nodes: tuple[int, ...]
    gpus: tuple[int, ...]
    ports: Mapping[str, int] = field(default_factory=dict)
    spread: Spread = "replica"


@record
class Net:
    """What every command may know: all endpoints and ports exist before any command is built.

    `model` is the model's path, `timeout` the readiness budget in seconds. `collector` is the address that all
    workers send their KV events to; None where each has a port of its own for them.
    """

    endpoints: tuple[Endpoint, ...]
    replicas: tuple[Replica, ...]
    public: int
    front: str
    served_name: str
    model: str | None
    timeout: float = 600.0
    collector: str | None = None

    def before(self, replica: Replica) -> Endpoint:
        """The endpoint that a replica beside it stands before."""
        return self._of.get(replica.role.beside or "", [])[replica.index]

    def endpoint(self, name: str) -> Endpoint | None:
        """The endpoint of that name."""
        return self._named.get(name)

    @cached_property
    def _named(self) -> Mapping[str, Endpoint]:
        return {each.name: each for each in self.endpoints}

    @cached_property
    def _of(self) -> Mapping[str, list[Endpoint]]:
        """The endpoints of each role."""
        found: dict[str, list[Endpoint]] = {}
        for each in self.endpoints:
            found.setdefault(each.role, []).append(each)
        return found

    @cached_property
    def renderer(self) -> Endpoint | None:
        """The worker that turns prompts into tokens for who collects KV events; None where nobody does."""
        if self.collector is None:
            return None
        return next((each for each in self.endpoints if each.mode == "prefill"), self.endpoints[0])

    def count(self, what: str) -> int:
        """The number behind a symbolic count of a manifest's gate: `endpoints` (all of them), `ranks` (theirs),
        `workers` (the aggregate ones), `prefill`, `decode`.
        """
        if what == "endpoints":
            return len(self.endpoints)
        if what == "ranks":
            return sum(endpoint.ranks for endpoint in self.endpoints)
        if what == "workers":
            return sum(1 for endpoint in self.endpoints if endpoint.mode == "aggregate")
        return sum(1 for endpoint in self.endpoints if endpoint.mode == what)


@record
class Task:
    """What one step runs: words with late references, environment, and the gates that end its start.

    `nodes` are those of the replica's nodes the step runs on (none said: its first), `processes` how many
    processes it has in all, spread evenly over them. `mpi` says that they are ranks of one MPI program. `rank` is
    the step's number in its replica (none said: that of its node), `gpus` are the devices it has (the replica's),
    `ports` those it listens on (the replica's on its first node, none on others), and `spans` how many it listens on
    from one of them on, where that is more than one.
    """

    words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    gates: tuple[Gate, ...] = ()
    nodes: tuple[int, ...] = ()
    processes: int = 1
    mpi: bool = False
    rank: int | None = None
    gpus: tuple[int, ...] | None = None
    ports: Mapping[str, int] | None = None
    spans: Mapping[str, int] = field(default_factory=dict)


class Adapter:
    """Base of all adapters; whatever is data comes from the role manifest.

    A subclass lives in a module of its own in this package and is exported there as `ADAPTER`. `codes`
    holds the page that `launch explain CODE` prints for each code that its `check` can yield; the first line
    of a page is its summary.
    """

    codes: ClassVar[Mapping[str, str]] = MappingProxyType({})
    reads: ClassVar[frozenset[str]] = frozenset()
    """Which of the keys `kv`, `kv_events` and `config` of a role, or `epp_config` of its router, it takes."""

    def ports(self, role: Role, nodes: int = 1) -> Mapping[str, Port]:
        """Ports of one replica, which has `nodes` nodes: the same numbers on all of them."""
        return role.manifest.ports

    def steps(self, replica: Replica) -> int:
        """How many steps the replica has at most; their ranks are below that."""
        return len(replica.nodes)

    def files(self, role: Role, net: Net) -> Iterator[File]:
        """Files of the run directory that the role's steps read, the same for all its replicas."""
        yield from ()

    def metrics(self, role: Role) -> Metrics | None:
        """Where Prometheus finds the metrics of a step of the role that has the port."""
        return role.manifest.metrics

    def endpoints(self, replica: Replica) -> tuple[Endpoint, ...]:
        """Addresses of the replica that a router may call; none for what is no worker."""
        return ()

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        """The commands of the replica, one a step; none where the adapter starts nothing."""
        raise NotImplementedError

    def front(self, job: Job) -> str:
        """Asked of the router's adapter: name of the role that owns the public port."""
        return next((each.role for each in job.router.manifest.implies if each.front), job.router.name)

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        """Findings only this kind of role can have. `endpoints` are the workers' as `nominal` gives them."""
        yield from ()

    def placed(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...]) -> Iterator[Diagnostic]:
        """Asked of roles that stand before others: findings about the workers' `endpoints` with the ports they get."""
        yield from ()


Adapters = Mapping[str, Adapter]


def listened(endpoint: Endpoint | None, ip: str) -> str:
    """The address that an engine listens on: every one where a proxy calls it, by way of loopback; else its own."""
    return _EVERYWHERE if endpoint is not None and endpoint.proxy else ip


def nodes(role: Role, node_gpus: int) -> int:
    """How many nodes of `node_gpus` GPUs a replica of the role has."""
    return max(1, -(-role.gpus // node_gpus)) if node_gpus else 1


def whole(gpus: int, node_gpus: int) -> bool:
    """Whether a replica of so many GPUs is a part of one node, or whole nodes; any is where nodes have none."""
    return gpus <= node_gpus or not node_gpus or gpus % node_gpus == 0


def nominal(job: Job, adapters: Adapters) -> tuple[Endpoint, ...]:
    """The endpoints of every worker replica before placement, for checks: nodes from 0 and each port at its base.

    A worker whose adapter is not among `adapters` has none here.
    """
    found: list[Endpoint] = []
    spread = job.router.manifest.urls
    for role in job.workers:
        adapter = adapters.get(role.manifest.adapter)
        if adapter is None:
            continue
        count, devices = nodes(role, job.cluster.node.gpus), range(min(role.gpus, job.cluster.node.gpus))
        ports = {name: port.base for name, port in adapter.ports(role, count).items()}
        for index in range(role.replicas):
            name, place = f"{role.name}-{index}", tuple(range(count))
            found.extend(adapter.endpoints(Replica(role, index, name, place, tuple(devices), ports, spread)))
    return tuple(found)
