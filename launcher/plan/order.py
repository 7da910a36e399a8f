"""Order: what must be open before a role may start."""

from collections.abc import Iterator, Mapping, Sequence

from launcher.model.job import BENCHMARK, Role
from launcher.plan.fault import Fault
from launcher.run.record import record

WORKERS = "workers"
"""In a manifest's `after`: every worker role."""


@record
class Order:
    """Role → roles whose gates must be open before it starts. With faults, those waits are left out."""

    after: Mapping[str, tuple[str, ...]]
    faults: tuple[Fault, ...]


def order(roles: Sequence[Role]) -> Order:
    """What each of `roles` waits for: what its manifest's `after` says, all workers for a silent router, all others
    for the benchmark.
    """
    names = {role.name for role in roles}
    # A router brings some roles along for some deployments only.
    known = names | {each.role for role in roles for each in role.manifest.implies}
    workers = tuple(role.name for role in roles if role.mode is not None)
    faults: list[Fault] = []
    after: dict[str, tuple[str, ...]] = {}
    for role in roles:
        waits = dict.fromkeys(_others(role, roles) if role.name == BENCHMARK else _waits(role, workers))
        faults.extend(_unknown(role.name, name) for name in waits if name not in known)
        after[role.name] = tuple(name for name in waits if name in names)
    for role_name, name in _backward(after):
        faults.append(_circle(role_name, name))
        after[role_name] = tuple(other for other in after[role_name] if other != name)
    return Order(after, tuple(faults))


def _others(role: Role, roles: Sequence[Role]) -> Iterator[str]:
    yield from (other.name for other in roles if other is not role)


def _waits(role: Role, workers: tuple[str, ...]) -> Iterator[str]:
    said = role.manifest.after or ([WORKERS] if role.manifest.kind == "router" else [])
    for name in said:
        if name == WORKERS:
            yield from workers
        else:
            yield name


def _backward(after: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Waits that close a circle, found depth first; without them there is none."""
    done: set[str] = set()
    for start in after:
        path: dict[str, Iterator[str]] = {} if start in done else {start: iter(after[start])}
        while path:
            current = next(reversed(path))
            name = next(path[current], None)
            if name is None:
                del path[current]
                done.add(current)
            elif name in path:
                yield current, name
            elif name not in done:
                path[name] = iter(after[name])


def _unknown(role: str, name: str) -> Fault:
    return Fault(
        kind="unknown-after",
        role=role,
        path=("manifest",),
        message=f"role `{role}` starts after `{name}`, and no role has that name",
        help=f"in the role manifest, `after` takes names of roles and `{WORKERS}`",
    )


def _circle(role: str, name: str) -> Fault:
    return Fault(
        kind="circular-after",
        role=role,
        path=("manifest",),
        message=f"role `{role}` starts after `{name}`, which waits for `{role}`",
        help="take one of them out of `after` in the role manifests",
    )
