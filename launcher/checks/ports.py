"""Ports that cannot be listened on."""

import re
from collections.abc import Iterator

from launcher.checks.case import Case
from launcher.model.given import Given
from launcher.model.job import Role
from launcher.plan.ports import HTTP
from launcher.roles.base import Replica
from launcher.text.diagnostic import Diagnostic, Place, Severity

_PRIVILEGED = 1024
_EVENTS = "kv-events-config"
# vLLM binds where there is a `*` or `::`, SGLang (0.5.23) at 0.0.0.0 too; each rank adds its number.
_BOUND = re.compile(r"tcp://(?:\*|\[?::\]?|0\.0\.0\.0):([0-9]{1,5})")


def port_privileged(case: Case) -> Iterator[Diagnostic]:
    """A port below 1024 needs a privilege

    Linux lets only privileged processes listen on ports below `net.ipv4.ip_unprivileged_port_start`, 1024
    unless the site changed it. Jobs of users have no such privilege, in a container neither. This is a
    warning: some sites allow it.

        [ports]
        public = 80
    """
    told: set[tuple[str, str]] = set()
    for replica in case.outline.replicas:
        for name, number in replica.ports.items():
            role = replica.role
            if number >= _PRIVILEGED or (role.name, name) in told:
                continue
            told.add((role.name, name))
            public = role.name == case.outline.front and name == HTTP
            if public:
                place: Place | None = case.job.origins.place(("ports", "public"))
            else:
                document = role.manifest_document
                place = Place(document, ("ports", name, "base")) if document else role.place()
            what = "the public port" if public else f"port `{name}` of role `{role.name}`"
            yield Diagnostic(
                "port-privileged",
                f"{what} is {number}: only privileged processes may listen below {_PRIVILEGED}",
                place,
                Severity.WARNING,
                help=f"use one from {_PRIVILEGED} on",
            )


def port_taken_twice(case: Case) -> Iterator[Diagnostic]:
    """Two workers on one node would publish KV events on one port

    `kv-events-config` gives every replica of a role the same port; the second on a node ends with "address already in
    use". `kv_events = true` gives each a port of its own.

        [roles.worker]
        kv_events = true
    """
    taken: dict[int, list[range]] = {}
    told: set[str] = set()
    first = {role.name: port for role in case.job.workers if (port := _published(role)) is not None}
    for replica in case.outline.replicas if first else ():
        ports = _ports(case, replica, first.get(replica.role.name))
        for node in replica.nodes if ports else ():
            others = taken.setdefault(node, [])
            clash = any(ports.start < other.stop and other.start < ports.stop for other in others)
            others.append(ports)
            if clash and replica.role.name not in told:
                told.add(replica.role.name)
                yield Diagnostic(
                    "port-taken-twice",
                    f"two workers on a node would publish KV events on port {ports.start}",
                    replica.role.place(*Given(replica.role).at(_EVENTS), part="key"),
                    help="say `kv_events = true` in its place: each worker then has a port of its own",
                )


def _published(role: Role) -> int | None:
    """The port on which a role's first rank publishes, as its flags say."""
    found = _BOUND.fullmatch(str(Given(role).table(_EVENTS).get("endpoint", "")))
    return None if found is None else int(found[1])


def _ports(case: Case, replica: Replica, first: int | None) -> range:
    """The ports of all ranks of a replica."""
    if first is None:
        return range(0)
    endpoints = case.adapters[replica.role.manifest.adapter].endpoints(replica)
    return range(first, first + sum(endpoint.ranks for endpoint in endpoints))
