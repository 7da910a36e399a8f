"""The plan as a value: what people look at, what goldens hold, what `render` turns into a Script."""

from collections.abc import Mapping
from dataclasses import field

from launcher.roles.base import Endpoint
from launcher.run.record import record
from launcher.run.script import File, Gate, Stop


@record
class Mount:
    """A directory or file of the host, seen in the step's container."""

    source: str
    target: str
    read_only: bool = False


@record
class Step:
    """One step. `nodes` are indices into the allocation, `gpus` device numbers on each of them; `cpus`
    and `memory` (MiB) are its share of a node, None where unknown or without GPUs. `tasks` is how many
    processes it has in all, and with `mpi` they are ranks of one MPI program. `words` are the role's own
    command; containers, preambles and masks are put round it by `render`. `setup` is the path in the run
    directory of its preamble, the cluster's included; where the role itself has one the step is `writable`: its
    container has a root of its own to write in. `baked` is the image that its own was made from, where that has the
    preamble in it. `ports` are on its first node, of some the first of as many as `spans` says. `after` names steps
    whose gates must be open first.
    """

    name: str
    role: str
    nodes: tuple[int, ...]
    words: tuple[str, ...]
    tasks: int = 1
    mpi: bool = False
    gpus: tuple[int, ...] = ()
    cpus: int | None = None
    memory: int | None = None
    ports: Mapping[str, int] = field(default_factory=dict)
    spans: Mapping[str, int] = field(default_factory=dict)
    image: str | None = None
    reference: str | None = None
    setup: str | None = None
    writable: bool = False
    baked: str | None = None
    mounts: tuple[Mount, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    env_from: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    gates: tuple[Gate, ...] = ()
    lasting: bool = True
    critical: bool = True
    stop: Stop = field(default_factory=Stop)

    @property
    def listens(self) -> Mapping[int, str]:
        """Every port that it listens on, with the name it goes by."""
        return {first + offset: name for name, first in self.ports.items() for offset in range(self.spans.get(name, 1))}


@record
class Target:
    """One Prometheus scrape target: `address` is host and port, `path` the metrics path."""

    step: str
    role: str
    address: str
    path: str


@record
class Component:
    """Nodes that are asked for alike: all of a job, or one component of a heterogeneous one.

    `gpus`, `cpus` and `memory` (MiB) are those of each node, 0 or None where Slurm is not asked for them;
    `segment` is how many nodes must be in one NVLink domain, None where it does not matter.
    """

    nodes: int
    gpus: int = 0
    cpus: int | None = None
    memory: int | None = None
    segment: int | None = None


@record
class Batch:
    """What Slurm is asked for. `time` is in seconds; None is Slurm's default. `sbatch` and `srun` are further
    words; nodes of the plan are numbered through the components.
    """

    components: tuple[Component, ...]
    exclusive: bool = True
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    time: int | None = None
    sbatch: tuple[str, ...] = ()
    srun: tuple[str, ...] = ()

    def component(self, node: int) -> int:
        """The index of the component that a node of the plan is in."""
        for index, each in enumerate(self.components):
            if node < each.nodes:
                return index
            node -= each.nodes
        raise IndexError(node)


@record
class Plan:
    """The whole deployment. `url` is the public base URL, `ready` what must hold at the end, `timeout` seconds;
    `batch` is None where there is no Slurm.
    """

    name: str
    cluster: str
    nodes: int
    url: str
    served_name: str
    steps: tuple[Step, ...]
    files: tuple[File, ...]
    endpoints: tuple[Endpoint, ...]
    targets: tuple[Target, ...]
    ready: tuple[Gate, ...]
    timeout: float
    batch: Batch | None = None
    schema: int = 1
