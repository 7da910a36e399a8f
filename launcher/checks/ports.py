"""Ports that cannot be listened on."""

from collections.abc import Iterator

from launcher.checks.case import Case
from launcher.model.job import Role
from launcher.plan.ports import HTTP
from launcher.roles.base import Replica
from launcher.roles.said import Spoken, said
from launcher.text.diagnostic import Diagnostic, Place, Severity

_PRIVILEGED = 1024


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
    """A port that the recipe names is taken on its node

    Flags and variables of a role are the same for all its replicas, and so is a port that they name: the second program
    on a node ends with "address already in use". `kv-events-config` publishes on 5557 unless it names another port;
    `kv_events = true` gives each worker one of its own.

        [roles.worker]
        kv_events = true
    """
    named = {role.name: found for role in case.job.roles if (found := tuple(said(role)))}
    taken: dict[int, list[range]] = {}
    for replica in case.outline.replicas if named else ():
        for node in replica.nodes:
            taken.setdefault(node, []).extend(range(port, port + 1) for port in replica.ports.values())
    for replica in case.outline.replicas:
        for each in named.get(replica.role.name, ()):
            ports = range(each.first, each.first + (_ranks(case, replica) if each.ranked else 1))
            places = [taken[node] for node in replica.nodes]
            clash = any(ports.start < other.stop and other.start < ports.stop for others in places for other in others)
            for others in places:
                others.append(ports)
            if clash and named.pop(replica.role.name, ()):
                yield _twice(replica.role, each)


def _twice(role: Role, named: Spoken) -> Diagnostic:
    use, advice = "listen", "take it out, or name one that nothing else on the node has"
    if named.ranked:
        use, advice = "publish KV events", "say `kv_events = true` in its place: each worker then has a port of its own"
    return Diagnostic(
        "port-taken-twice",
        f"port {named.first} of a node, on which `{role.name}` would {use}, is taken",
        role.place(*named.at, part="key"),
        help=advice,
    )


def _ranks(case: Case, replica: Replica) -> int:
    """How many ranks a replica has in all."""
    return sum(endpoint.ranks for endpoint in case.adapters[replica.role.manifest.adapter].endpoints(replica))
