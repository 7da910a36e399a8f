"""Ports: unique on a node, allocated from the role manifests' bases, known before any command is built."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from launcher.model.manifest import Port
from launcher.model.recipe import Ports
from launcher.plan.fault import Fault
from launcher.plan.place import Seat
from launcher.run.record import mutable, record

HTTP = "http"
"""Name of the port an API is served on; the front role's is the public one."""

EVENTS = "kv_events"
"""Name of the port KV events are offered on by a worker, or collected on by a service."""

HIGHEST = 65535

_PUBLIC = 8000


@record
class Allocation:
    """`ports` has, for each seat in order, its ports by name, free on all of its nodes; `public` is the port of the
    public URL.
    """

    public: int
    ports: tuple[Mapping[str, int], ...]
    faults: tuple[Fault, ...]


@mutable
class _Node:
    """Ports of one node. `following` remembers where the last search of its kind ended: ports are never
    given back, so everything before it is still taken.
    """

    taken: set[int] = field(default_factory=set)
    following: dict[tuple[int, int, int], int] = field(default_factory=dict)


def _reserve(nodes: Sequence[_Node], base: int, port: Port) -> int | None:
    """The first number from `base` by `step` that is free on all `nodes`, with as many as the port spans."""
    key = (base, port.step, port.span)
    first = max(node.following.get(key, base) for node in nodes)
    while not all(node.taken.isdisjoint(range(first, first + port.span)) for node in nodes):
        first += port.step
    if first + port.span - 1 > HIGHEST:
        return None
    for node in nodes:
        node.following[key] = first + port.step
        node.taken.update(range(first, first + port.span))
    return first


def public(ports: Ports) -> int:
    """The port of the public URL: as the recipe says, else 8000 + `shift`."""
    return ports.public if ports.public is not None else _PUBLIC + ports.shift


def allocate(
    seats: Sequence[Seat],
    wanted: Mapping[str, Mapping[str, Port]],
    front: str,
    ports: Ports,
    everywhere: Collection[str] = (),
) -> Allocation:
    """Ports of every seat, the same on all of its nodes: the first free one from base + shift, by step.

    `wanted` has each role's ports by name, `front` is the role that owns the public port: its first
    replica's `http`. The public port is set aside on that node before any other is given. Those of roles `everywhere`
    are nobody else's on any node.
    """
    nodes: dict[int, _Node] = {node: _Node() for seat in seats for node in seat.nodes} if everywhere else {}
    faults: dict[tuple[str, str], Fault] = {}
    entry = public(ports)
    owner = next((seat for seat in seats if seat.role == front and HTTP in wanted.get(front, {})), None)
    if owner is None:
        faults[front, HTTP] = _unowned(front)
    else:
        nodes[owner.nodes[0]] = _Node({entry})
    found = []
    for seat in seats:
        here = [nodes.setdefault(node, _Node()) for node in (nodes if seat.role in everywhere else seat.nodes)]
        mine: dict[str, int] = {}
        for name, port in wanted.get(seat.role, {}).items():
            number = entry if seat is owner and name == HTTP else _reserve(here, port.base + ports.shift, port)
            if number is None:
                faults.setdefault((seat.role, name), _exhausted(seat.role, name, port.base + ports.shift))
            else:
                mine[name] = number
        found.append(mine)
    return Allocation(entry, tuple(found), tuple(faults.values()))


def _unowned(front: str) -> Fault:
    return Fault(
        kind="front-without-port",
        role=front,
        path=("manifest",),
        message=f"role `{front}` owns the public port and its role manifest has no port `{HTTP}`",
        help=f"give its role manifest a `[ports.{HTTP}]`",
    )


def _exhausted(role: str, name: str, base: int) -> Fault:
    return Fault(
        kind="ports-exhausted",
        role=None,
        path=("ports", "shift"),
        message=f"no port `{name}` is left for a replica of `{role}` between {base} and {HIGHEST} on its node",
        help="lower `[ports] shift`, or spread the replicas over more nodes",
    )
