"""What an adapter is: how one kind of role becomes ports, endpoints and commands."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import ClassVar, Literal

from launcher.model.job import Job, Mode, Role
from launcher.model.manifest import Port
from launcher.run.record import record
from launcher.run.script import Gate
from launcher.text.diagnostic import Diagnostic

Wire = Literal["vllm", "sglang", "trtllm"]
Scheme = Literal["http", "grpc"]
Handoff = Literal["none", "kv_transfer_params", "bootstrap"]


@record
class Endpoint:
    """One address a router may call. Routers judge this, never another adapter's name.

    `url` holds late references (`http://{ip0}:6100`); `ranks` is how many data-parallel ranks stand
    behind it; `bootstrap` the port of a prefill worker's bootstrap server where it has one.
    """

    name: str
    role: str
    url: str
    mode: Mode
    wire: Wire
    scheme: Scheme = "http"
    handoff: Handoff = "none"
    ranks: int = 1
    bootstrap: int | None = None


@record
class Replica:
    """One replica placed: `nodes` are node indices of the allocation, `gpus` the device numbers it has on
    each of them, `ports` its ports by name on its first node.
    """

    role: Role
    index: int
    name: str
    nodes: tuple[int, ...]
    gpus: tuple[int, ...]
    ports: Mapping[str, int] = field(default_factory=dict)


@record
class Net:
    """What every command may know: all endpoints and ports exist before any command is built.

    `model` is the model's path, `timeout` the readiness budget in seconds.
    """

    endpoints: tuple[Endpoint, ...]
    replicas: tuple[Replica, ...]
    public: int
    front: str
    served_name: str
    model: str | None
    timeout: float = 600.0

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
    processes it has in all, spread evenly over them. `mpi` says that they are ranks of one MPI program.
    """

    words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    gates: tuple[Gate, ...] = ()
    nodes: tuple[int, ...] = ()
    processes: int = 1
    mpi: bool = False


class Adapter:
    """Base of all adapters; whatever is data comes from the role manifest.

    A subclass lives in a module of its own in this package and is exported there as `ADAPTER`. `codes`
    holds the page that `launch explain CODE` prints for each code that its `check` can yield; the first line
    of a page is its summary.
    """

    codes: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def ports(self, role: Role) -> Mapping[str, Port]:
        """Ports one replica needs on its first node."""
        return role.manifest.ports

    def endpoints(self, replica: Replica) -> tuple[Endpoint, ...]:
        """Addresses of the replica that a router may call; none for what is no worker."""
        return ()

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        """The commands of the replica, one a step; none where the adapter starts nothing."""
        raise NotImplementedError

    def front(self, job: Job) -> str:
        """Asked of the router's adapter: name of the role that owns the public port."""
        return job.router.name

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        """Findings only this kind of role can have. `endpoints` are the workers' as `nominal` gives them."""
        yield from ()


Adapters = Mapping[str, Adapter]


def nominal(job: Job, adapters: Adapters) -> tuple[Endpoint, ...]:
    """The endpoints of every worker replica before placement, for checks: node 0 and each port at its base.

    A worker whose adapter is not among `adapters` has none here.
    """
    found: list[Endpoint] = []
    for role in job.workers:
        adapter = adapters.get(role.manifest.adapter)
        if adapter is None:
            continue
        ports = {name: port.base for name, port in adapter.ports(role).items()}
        for index in range(role.replicas):
            found.extend(adapter.endpoints(Replica(role, index, f"{role.name}-{index}", (0,), (), ports)))
    return tuple(found)
