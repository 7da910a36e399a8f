"""Placement: which replica runs on which nodes, and on which GPUs of them.

`place(roles, node_gpus, limit)` is pure, linear in the number of replicas, and never raises: what cannot be
placed is left out and returned as a `Fault`, so that the same function serves `plan` (which needs none)
and the checks (which draw them).

Rules. A role whose manifest has no command starts nothing and gets no seat; nor has one that follows the endpoints of
another, which `outline` seats. A replica with fewer GPUs than a
node is packed first-fit, in order, on one node; a larger one takes whole, fresh nodes. Device numbers on a
node are disjoint. A role without GPUs goes to the head node (node 0) unless `on` says otherwise: `dedicated`
is nodes that no other role gets unless it asks for that role by name; a role's name is beside that role's
first replica. Dedicated nodes are numbered after the shared ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field

from launcher.model.job import Role
from launcher.plan.fault import Fault
from launcher.roles.base import whole
from launcher.run.record import mutable, record

HEAD = "head"
DEDICATED = "dedicated"


@record
class Seat:
    """Where one replica sits: indices into the allocation, and the device numbers it has on each of them."""

    role: str
    index: int
    nodes: tuple[int, ...]
    gpus: tuple[int, ...]


@record
class Layout:
    """`nodes` is how many nodes are used, `seats` stand in the order of roles and replicas, `idle` counts
    GPUs of the used nodes that no replica has.
    """

    nodes: int
    seats: tuple[Seat, ...]
    idle: int
    faults: tuple[Fault, ...]


@mutable
class _Pool:
    """Nodes that roles share. `used` counts the GPUs taken of each, `first` remembers for each size the
    first node that may still have room: room only shrinks, so it never moves back.
    """

    gpus: int
    used: list[int] = field(default_factory=list)
    first: dict[int, int] = field(default_factory=dict)

    def fresh(self, count: int, gpus: int) -> tuple[int, ...]:
        start = len(self.used)
        self.used.extend([gpus] * count)
        return tuple(range(start, start + count))

    def packed(self, gpus: int) -> tuple[int, range]:
        node = self.first.get(gpus, 0)
        while node < len(self.used) and self.used[node] + gpus > self.gpus:
            node += 1
        self.first[gpus] = node
        if node == len(self.used):
            self.used.append(0)
        return node, self.taken(node, gpus)

    def taken(self, node: int, gpus: int) -> range:
        start = self.used[node]
        self.used[node] += gpus
        return range(start, start + gpus)


_SHARED = ""

# A seat before pools are lined up one after another: its nodes are indices into the pool.
_Loose = tuple[str, Seat]


@mutable
class _Floor:
    gpus: int
    pools: dict[str, _Pool] = field(default_factory=dict)
    loose: dict[str, list[_Loose]] = field(default_factory=dict)

    def pool(self, name: str) -> _Pool:
        return self.pools.setdefault(name, _Pool(self.gpus))

    def node(self, name: str) -> int:
        """The first node of a pool, made if there is none."""
        pool = self.pool(name)
        if not pool.used:
            pool.fresh(1, 0)
        return 0


def place(roles: Sequence[Role], node_gpus: int, limit: int | None = None) -> Layout:
    """Seats for every replica of `roles` on nodes of `node_gpus` GPUs, at most `limit` of them (None: no limit)."""
    floor = _Floor(node_gpus)
    faults: list[Fault] = []
    for role in _in_order([role for role in roles if _seated(role)], faults):
        fault = _misfit(role, node_gpus) or _settle(role, floor)
        if fault:
            faults.append(fault)
    layout = _line_up(roles, floor)
    if limit is not None and layout.nodes > limit:
        faults.append(_too_few(layout.nodes, limit, roles))
    return Layout(layout.nodes, layout.seats, layout.idle, tuple(faults))


def _seated(role: Role) -> bool:
    return bool(role.manifest.program.command) and role.beside is None


def _in_order(roles: Sequence[Role], faults: list[Fault]) -> Iterator[Role]:
    """Roles so that each comes after the role it is placed beside; those beside nothing become faults."""
    names = {role.name for role in roles}
    waiting: dict[str, list[Role]] = {}
    ready: list[Role] = []
    lost: list[Role] = []
    for role in roles:
        if role.on is None or role.on in (HEAD, DEDICATED):
            ready.append(role)
        elif role.on in names and role.on != role.name:
            waiting.setdefault(role.on, []).append(role)
        else:
            lost.append(role)
    # What is pinned to the head's GPUs chooses before others are packed there.
    ready.sort(key=lambda role: not (role.on == HEAD and role.gpus))
    for role in ready:
        yield role
        ready.extend(waiting.pop(role.name, ()))
    faults.extend(_unknown(role, sorted(names - {role.name})) for role in lost)
    # A role beside one that is lost is not to blame; what waits still is a circle.
    for role in lost:
        lost.extend(waiting.pop(role.name, ()))
    faults.extend(_unknown(role, sorted(names - {role.name})) for group in waiting.values() for role in group)


def _unknown(role: Role, names: Sequence[str]) -> Fault:
    known = ", ".join(f"`{name}`" for name in (HEAD, DEDICATED, *names))
    return Fault(
        kind="unknown-placement",
        role=role.name,
        path=("on",),
        message=f"role `{role.name}` cannot be placed on `{role.on}`",
        help=f"use one of {known}, and no circle of roles on each other",
    )


def _misfit(role: Role, node_gpus: int) -> Fault | None:
    if role.gpus and not node_gpus:
        return Fault(
            kind="node-has-no-gpus",
            role=role.name,
            path=("gpus",),
            message=f"role `{role.name}` wants {role.gpus} GPUs and the cluster's nodes have none",
            help="set `node.gpus` in the cluster file, or `gpus = 0`",
        )
    if not whole(role.gpus, node_gpus):
        below = role.gpus - role.gpus % node_gpus
        return Fault(
            kind="gpus-not-whole-nodes",
            role=role.name,
            path=("gpus",),
            message=f"a replica of `{role.name}` wants {role.gpus} GPUs: more than a node's {node_gpus}, "
            "but not whole nodes",
            help=f"use {below} or {below + node_gpus}",
        )
    return None


def _settle(role: Role, floor: _Floor) -> Fault | None:
    if role.on == DEDICATED:
        _spread(role, role.name, floor)
        return None
    if role.on is None and role.gpus:
        _spread(role, _SHARED, floor)
        return None
    home, node = _SHARED, 0
    if role.on is not None and role.on != HEAD:
        beside = floor.loose.get(role.on)
        if not beside:
            return None
        home, seat = beside[0]
        node = seat.nodes[0]
    return _pin(role, home, node, floor)


def _spread(role: Role, home: str, floor: _Floor) -> None:
    pool = floor.pool(home)
    seats = floor.loose.setdefault(role.name, [])
    if not role.gpus:
        node = floor.node(home)
        seats.extend((home, Seat(role.name, index, (node,), ())) for index in range(role.replicas))
        return
    for index in range(role.replicas):
        if role.gpus >= pool.gpus:
            nodes = pool.fresh(role.gpus // pool.gpus, pool.gpus)
            seats.append((home, Seat(role.name, index, nodes, tuple(range(pool.gpus)))))
        else:
            node, devices = pool.packed(role.gpus)
            seats.append((home, Seat(role.name, index, (node,), tuple(devices))))


def _pin(role: Role, home: str, node: int, floor: _Floor) -> Fault | None:
    """Every replica of the role on one node, GPUs included."""
    floor.node(home)
    pool = floor.pool(home)
    free = pool.gpus - pool.used[node]
    if role.gpus * role.replicas > free:
        return Fault(
            kind="no-room-beside",
            role=role.name,
            path=("on",),
            message=f"role `{role.name}` wants {role.gpus * role.replicas} GPUs on one node "
            f'(`on = "{role.on}"`), and {free} are free there',
            help="leave `on` out, so that replicas are packed on any node, or ask for fewer GPUs",
        )
    floor.loose[role.name] = [
        (home, Seat(role.name, index, (node,), tuple(pool.taken(node, role.gpus)))) for index in range(role.replicas)
    ]
    return None


def _line_up(roles: Sequence[Role], floor: _Floor) -> Layout:
    """Pools become one allocation: the shared nodes first, then dedicated ones in the order of roles."""
    order = [_SHARED, *(role.name for role in roles)]
    start: dict[str, int] = {}
    nodes = taken = 0
    for name in order:
        pool = floor.pools.get(name)
        if pool is not None and name not in start:
            start[name] = nodes
            nodes += len(pool.used)
            taken += sum(pool.used)
    loose = [item for role in roles for item in floor.loose.get(role.name, ())]
    seats = tuple(_shifted(seat, start[home]) for home, seat in loose)
    return Layout(nodes, seats, nodes * floor.gpus - taken, ())


def _shifted(seat: Seat, by: int) -> Seat:
    return Seat(seat.role, seat.index, tuple(node + by for node in seat.nodes), seat.gpus) if by else seat


def _too_few(wanted: int, limit: int, roles: Sequence[Role]) -> Fault:
    blamed = max(roles, key=lambda role: (role.gpus * role.replicas, role.on == DEDICATED))
    return Fault(
        kind="too-few-nodes",
        role=blamed.name,
        path=("replicas",) if blamed.gpus else ("on",),
        message=f"the job needs {wanted} nodes and the cluster has {limit}",
        help="ask for fewer replicas or GPUs, or raise `nodes` in the cluster file",
    )
