"""Ports that cannot be listened on."""

from collections.abc import Iterator

from launcher.checks.case import Case
from launcher.plan.ports import HTTP
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
