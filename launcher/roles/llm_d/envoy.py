"""Envoy before the EPP: it owns the public port.

Facts, of Envoy 1.40 (seen): a second one on a node ends at start unless `--disable-hot-restart` is given. A port that
is in use ends it. `/ready` of its admin port says LIVE without an EPP, which its own gate asks after.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from launcher.model.job import Job, Role
from launcher.model.manifest import Port
from launcher.roles.base import Adapter, Endpoint, Net, Replica, Task
from launcher.roles.command import flags, gates, program
from launcher.roles.llm_d.addresses import ENVOY_FILE, HTTP, in_run
from launcher.roles.llm_d.bootstrap import ADMIN, STATUS, bootstrap
from launcher.roles.llm_d.epp import Epp, alone
from launcher.run.script import File
from launcher.text.diagnostic import Diagnostic


class Envoy(Adapter):
    """One process, told everything by its bootstrap."""

    codes: ClassVar[Mapping[str, str]] = {"not-alone": Epp.codes["not-alone"]}

    def ports(self, role: Role, nodes: int = 1) -> Mapping[str, Port]:
        return {HTTP: Port(base=8000), ADMIN: Port(base=9901), STATUS: Port(base=9911), **role.manifest.ports}

    def files(self, role: Role, net: Net) -> Iterator[File]:
        own = next((each for each in net.replicas if each.role.name == role.name), None)
        if own is not None:
            yield File(ENVOY_FILE, data=bootstrap(own, net))

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        words = (
            *program(replica, net),
            "--config-path",
            in_run(ENVOY_FILE),
            "--disable-hot-restart",
            *flags(replica.role),
        )
        return (Task(words, gates=gates(replica, net)),)

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        yield from alone(role)


ADAPTER = Envoy()
