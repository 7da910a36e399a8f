"""vLLM's ranks on GPUs and nodes: who has which, in how many servers.

Facts of vLLM 0.20 to 0.33. A data-parallel rank has TP × PP × PCP processes and as many GPUs; expert and decode context
parallelism share those. Local GPU numbers count from a server's first rank (`config/parallel.py:842` of 0.33), so a
server sees the GPUs of all its ranks. Ranks are numbered through the nodes: a server's first is how many are before it.
"""

from typing import Literal

from launcher.roles.base import whole
from launcher.run.record import record

Balance = Literal["one", "headless", "hybrid", "external", "nodes"]
"""How requests reach the ranks of a replica: one server for all on one node; the first node's server has the API and
the others are headless; a server with an API on each node; a server with an API for each rank; ranks larger than a
node, all nodes of which are one group (`--nnodes`) whose first has the API.
"""


@record
class Shape:
    """Sizes of a replica: `data` ranks of `world` processes each; with `external` each rank is a server."""

    data: int
    world: int
    external: bool = False

    @property
    def gpus(self) -> int:
        """GPUs of a replica."""
        return self.data * self.world


@record
class Server:
    """One `vllm serve`: on the replica's node number `node`, with the devices `gpus` of it and the ranks from `start`,
    `local` of them. `index` is its number in the replica, `turn` that among those of its node; without `api` it serves
    nobody.
    """

    index: int
    node: int
    gpus: tuple[int, ...]
    start: int
    local: int
    api: bool = True
    turn: int = 0


@record
class Formation:
    """The servers of a replica and how requests reach their ranks."""

    balance: Balance
    servers: tuple[Server, ...]


def misfit(shape: Shape, gpus: int, node_gpus: int) -> str | None:
    """Why a replica of `gpus` GPUs on nodes of `node_gpus` cannot have the shape, worded for a Diagnostic, or None.

    None too where no replica can have as many GPUs, which is a finding of its own.
    """
    if not node_gpus or not gpus or not whole(gpus, node_gpus):
        return None
    here = min(gpus, node_gpus)
    if shape.world <= here:
        if here % shape.world:
            return f"a data-parallel rank has {shape.world} GPUs, and {here} on a node are no multiple of that"
        return None
    if shape.external:
        return f"a rank of {shape.world} GPUs is larger than a node of {here}, and no server of its own can have it"
    if shape.world % here:
        return f"a data-parallel rank has {shape.world} GPUs, which are no whole nodes of {here}"
    return None


def formation(shape: Shape, nodes: int, gpus: tuple[int, ...], *, spread: bool) -> Formation:
    """The servers of a replica with `gpus` on each of its `nodes`; with `spread` each node has an API.

    Without GPUs all are on one node. What does not fit (see `misfit`) still has servers, the likeliest.
    """
    each = max(len(gpus) // shape.world, 1) if gpus else shape.data
    if shape.external:
        return Formation("external", tuple(_ranks(shape, nodes, gpus, each)))
    if nodes == 1:
        return Formation("one", (Server(0, 0, gpus, 0, shape.data),))
    if shape.data == 1 or shape.world > len(gpus):
        return Formation("nodes", tuple(_part(shape, node, gpus) for node in range(nodes)))
    balance: Balance = "hybrid" if spread else "headless"
    servers = (Server(node, node, gpus, node * each, each, spread or node == 0) for node in range(nodes))
    return Formation(balance, tuple(servers))


def _part(shape: Shape, node: int, gpus: tuple[int, ...]) -> Server:
    """The server of a node that has a part of a rank, which counts where its first GPU is."""
    rank, before = divmod(node * len(gpus), shape.world)
    return Server(node, node, gpus, rank, int(not before), node == 0)


def _ranks(shape: Shape, nodes: int, gpus: tuple[int, ...], each: int) -> list[Server]:
    found = []
    for rank in range(shape.data):
        node = min(rank // each, nodes - 1)
        turn = rank - node * each
        first = turn * shape.world
        found.append(Server(rank, node, gpus[first : first + shape.world], rank, 1, turn=turn))
    return found
