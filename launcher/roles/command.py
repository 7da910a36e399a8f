"""What most adapters have in common: the manifest's command, the role's flags, the manifest's gates."""

from typing import Any, get_args

from launcher.model.catalogue import spell
from launcher.model.job import Role
from launcher.model.manifest import Count, ManifestExpect
from launcher.roles.base import Net, Replica
from launcher.roles.placeholder import Lookup, fill, values
from launcher.run.script import Expect, Gate

_COUNTS = frozenset(get_args(Count))


def program(replica: Replica, net: Net, rank: int = 0) -> tuple[str, ...]:
    """The first words of the replica's command: the manifest's, placeholders filled."""
    look = values(replica, net, rank)
    return tuple(fill(word, look) for word in replica.role.manifest.program.command)


def flags(role: Role) -> tuple[str, ...]:
    """The words of the role's flags, exact to the byte; by the values' types where there is no catalogue."""
    return tuple(spell(role.catalogue, role.flags))


def given(role: Role, name: str) -> str | None:
    """The key by which the role's flags set the flag `name` (no dashes in front), in any spelling its program takes."""
    if name in role.flags:
        return name
    flag = role.catalogue.find(name) if role.catalogue else None
    if flag is None or role.catalogue is None:
        return None
    return next((key for key in role.flags if (other := role.catalogue.find(key)) and flag.same(other)), None)


def gates(replica: Replica, net: Net, rank: int = 0) -> tuple[Gate, ...]:
    """The manifest's gates for the replica's node number `rank`: placeholders filled, symbolic counts as numbers."""
    look = values(replica, net, rank)
    return tuple(
        Gate(
            kind=gate.kind,
            url=fill(gate.url, look),
            expect=tuple(_expect(expect, net, look) for expect in gate.expect),
            status=gate.status,
            model=net.served_name if gate.kind == "complete" else "",
        )
        for gate in replica.role.manifest.gates
    )


def _expect(expect: ManifestExpect, net: Net, look: Lookup) -> Expect:
    return Expect(
        at=expect.at,
        equals=_counted(expect.equals, net, look),
        count=_counted(expect.count, net, look),
        has=fill(expect.has, look),
        where=fill(expect.where, look),
    )


def _counted(value: Any, net: Net, look: Lookup) -> Any:
    if isinstance(value, str) and value in _COUNTS:
        return net.count(value)
    return fill(value, look)
