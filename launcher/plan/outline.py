"""The outline of a plan: who sits where, on which ports, in what order. Shared by `plan` and the checks."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from launcher.model.job import Job, Role
from launcher.model.manifest import Port
from launcher.plan.fault import Fault
from launcher.plan.order import Order, order
from launcher.plan.place import Layout, Seat, place
from launcher.plan.ports import EVENTS, Allocation, allocate
from launcher.roles.base import Adapters, Replica, nodes
from launcher.run.record import record


@record
class Outline:
    """What is fixed before any command is built; `front` is the role that owns the public port. What has a
    fault is left out of `replicas`.
    """

    layout: Layout
    allocation: Allocation
    order: Order
    front: str
    replicas: tuple[Replica, ...]
    faults: tuple[Fault, ...]


def outline(job: Job, adapters: Adapters) -> Outline:
    """The outline of `job`; never raises for what a job may say. `adapters` has one for every role."""
    layout = place(job.roles, job.cluster.node.gpus, job.cluster.nodes)
    front = adapters[job.router.manifest.adapter].front(job)
    wanted = {
        role.name: dict(adapters[role.manifest.adapter].ports(role, nodes(role, job.cluster.node.gpus)))
        for role in job.roles
    }
    _collected(job, wanted)
    seats = tuple(_seats(job, adapters, layout, wanted))
    allocation = allocate(seats, wanted, front, job.recipe.ports, _everywhere(job, wanted))
    waits = order(job.roles)
    roles, spread = {role.name: role for role in job.roles}, job.router.manifest.urls
    replicas = tuple(
        Replica(
            roles[seat.role],
            seat.index,
            name(roles[seat.role], seat.index),
            seat.nodes,
            seat.gpus,
            ports,
            spread,
        )
        for seat, ports in zip(seats, allocation.ports, strict=True)
    )
    lost = {fault.role for fault in layout.faults}
    # A front that has no seat has its fault already.
    unserved = (fault for fault in allocation.faults if fault.role is None or fault.role not in lost)
    faults = (*layout.faults, *unserved, *waits.faults, *_clashes(replicas, adapters))
    return Outline(layout, allocation, waits, front, replicas, faults)


def _everywhere(job: Job, wanted: Mapping[str, Mapping[str, Port]]) -> frozenset[str]:
    """Roles that listen on every address where the nodes of a run are addresses of one machine: what stands before a
    worker, and calls it at localhost, that worker, and what has a port of the kind.
    """
    if job.cluster.scheduler != "local":
        return frozenset()
    beside = {name for role in job.roles if role.beside for name in (role.name, role.beside)}
    wide = {name for name, ports in wanted.items() if any(port.everywhere for port in ports.values())}
    return frozenset(beside | wide)


def _collected(job: Job, wanted: Mapping[str, dict[str, Port]]) -> None:
    """Takes away the ports on which workers would offer their KV events where a service collects them."""
    if any(role.mode is None and EVENTS in wanted[role.name] for role in job.roles):
        for role in job.workers:
            wanted[role.name].pop(EVENTS, None)


def _seats(job: Job, adapters: Adapters, layout: Layout, wanted: Mapping[str, Mapping[str, Port]]) -> Iterator[Seat]:
    """The layout's seats, and one for each endpoint that a role stands beside, in the order of roles."""
    seats: dict[str, list[Seat]] = {}
    for seat in layout.seats:
        seats.setdefault(seat.role, []).append(seat)
    roles = {role.name: role for role in job.roles}
    for role in job.roles:
        yield from seats.get(role.name, ())
        if role.beside is None or role.beside not in roles:
            continue
        other = roles[role.beside]
        bases = {name: port.base for name, port in wanted[other.name].items()}
        endpoints = (
            endpoint
            for seat in seats.get(other.name, ())
            for endpoint in adapters[other.manifest.adapter].endpoints(
                Replica(
                    other, seat.index, name(other, seat.index), seat.nodes, seat.gpus, bases, job.router.manifest.urls
                )
            )
        )
        yield from (Seat(role.name, index, (endpoint.node,), ()) for index, endpoint in enumerate(endpoints))


def name(role: Role, index: int) -> str:
    """The name of a replica and of its first step: numbered for workers and where there are several."""
    alone = role.mode is None and role.replicas == 1 and role.beside is None
    return role.name if alone else f"{role.name}-{index}"


def names(replica: Replica, steps: int) -> Iterator[str]:
    """Names of the steps a replica of at most so many may have."""
    yield replica.name
    yield from (f"{replica.name}-rank{rank}" for rank in range(1, steps))


def _clashes(replicas: Sequence[Replica], adapters: Adapters) -> Iterator[Fault]:
    steps = [adapters[replica.role.manifest.adapter].steps(replica) for replica in replicas]
    count = Counter(step for replica, most in zip(replicas, steps, strict=True) for step in names(replica, most))
    if len(count) == count.total():
        return
    for replica, most in zip(replicas, steps, strict=True):
        clash = next((step for step in names(replica, most) if count[step] > 1), None)
        if clash is not None and replica.role.mode is None:
            yield Fault(
                kind="step-names-clash",
                role=replica.role.name,
                path=(),
                message=f"a step of role `{replica.role.name}` has the name of another role's: `{clash}`",
                help="give the role another name",
            )
