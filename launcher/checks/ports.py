"""Ports that cannot be listened on."""

import re
from collections.abc import Iterator, Sequence

from launcher.checks.case import Case
from launcher.model.given import Given
from launcher.model.job import Role
from launcher.plan.ports import HTTP
from launcher.roles.base import Replica
from launcher.text.diagnostic import Diagnostic, Place, Severity

_PRIVILEGED = 1024
_EVENTS = "kv-events-config"
_DEFAULT = "tcp://*:5557"
"""Where vLLM (0.11 to 0.33) and SGLang (0.5.23) publish unless told."""
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
    """KV events would be published on a port of a node that is taken

    `kv-events-config` gives every replica of a role the same ports, 5557 unless it names one; the second on a node ends
    with "address already in use". `kv_events = true` gives each a port of its own.

        [roles.worker]
        kv_events = true
    """
    publishers: dict[str, Sequence[int]] = {
        role.name: first for role in case.job.workers if (first := _published(role))
    }
    taken: dict[int, list[range]] = {}
    for replica in case.outline.replicas if publishers else ():
        for node in replica.nodes:
            taken.setdefault(node, []).extend(range(port, port + 1) for port in replica.ports.values())
    for replica in case.outline.replicas:
        for ports in _ports(case, replica, publishers.get(replica.role.name, ())):
            places = [taken[node] for node in replica.nodes]
            clash = any(ports.start < other.stop and other.start < ports.stop for others in places for other in others)
            for others in places:
                others.append(ports)
            if clash and publishers.pop(replica.role.name, ()):
                yield Diagnostic(
                    "port-taken-twice",
                    f"port {ports.start} of a node, on which `{replica.role.name}` would publish KV events, is taken",
                    replica.role.place(*Given(replica.role).at(_EVENTS), part="key"),
                    help="say `kv_events = true` in its place: each worker then has a port of its own",
                )


def _published(role: Role) -> Sequence[int]:
    """The ports on which a role's first rank publishes and replays, as its flags say."""
    said = Given(role).table(_EVENTS)
    # vLLM publishes once it is told to make events, SGLang once it is told of a publisher.
    if not said or said.get("publisher", "zmq" if said.get("enable_kv_cache_events") else None) in (None, "null"):
        return ()
    found = (_BOUND.fullmatch(str(end)) for end in (said.get("endpoint", _DEFAULT), said.get("replay_endpoint")))
    return [int(bound[1]) for bound in found if bound]


def _ports(case: Case, replica: Replica, first: Sequence[int]) -> Iterator[range]:
    """The ports of all ranks of a replica."""
    if first:
        endpoints = case.adapters[replica.role.manifest.adapter].endpoints(replica)
        ranks = sum(endpoint.ranks for endpoint in endpoints)
        yield from (range(port, port + ranks) for port in first)
