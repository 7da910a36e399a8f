"""The P/D sidecar: before each decode worker (or rank) that the EPP can pick, on its node.

Facts, of pd-sidecar 0.10.0: it calls its worker at `localhost`, so it runs on the worker's node and the worker listens
there too. Its own `/health` does not ask the worker. `--secure-proxy` is on unless told, and Envoy would speak plain
HTTP to a TLS port. Flags that it does not know make it end with 0. By Mooncake it asks the prefill worker's bootstrap
server for the engines behind it, at the worker's address and the one port it was told (`connector_mooncake.go`).
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from launcher.model.job import Job, Role
from launcher.roles.base import Adapter, Endpoint, Net, Replica, Task
from launcher.roles.command import flags, gates, program
from launcher.roles.llm_d.addresses import HTTP
from launcher.roles.llm_d.protocol import MOONCAKE, bootstraps, protocol
from launcher.roles.router import worker
from launcher.text.diagnostic import Diagnostic

_FOLLOWED = ("replicas", "gpus", "on")


class Sidecar(Adapter):
    """One process for each replica."""

    codes: ClassVar[Mapping[str, str]] = {
        "follows-another": """A role that follows another says where or how often it runs

There is one llm-d sidecar before each decode worker that has an address, on its node: both follow from the role
`decode`, and a sidecar needs no GPUs.""",
        "bootstrap-ports-differ": """Prefill workers have bootstrap servers on different ports

With Mooncake a sidecar asks the bootstrap server of the prefill worker that was picked, and is told one port for all of
them (`--mooncake-bootstrap-port`, llm-d-router 0.10.0). Workers on one node cannot all have it, nor can data-parallel
ranks with a server each.

    [roles.prefill]
    gpus = 8            # a whole node, one server
    replicas = 2""",
    }

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        endpoint = net.before(replica)
        named = protocol(endpoint)
        ports = bootstraps(net.endpoints) if named == MOONCAKE else {}
        words = (
            *program(replica, net),
            f"--port={replica.ports[HTTP]}",
            f"--model-server-port={endpoint.url.rpartition(':')[2]}",
            f"--kv-connector={named}",
            *(f"--mooncake-bootstrap-port={port}" for port in list(ports)[:1]),
            "--secure-proxy=false",
            *flags(replica.role),
        )
        return (Task(words, gates=gates(replica, net)),)

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        for key in _FOLLOWED:
            if (key,) in role.origins.chains:
                yield Diagnostic(
                    "follows-another",
                    f"`{role.name}` follows `{role.beside}`: `{key}` is not its own",
                    role.place(key, part="key"),
                    help=f"take `{key}` out",
                )

    def placed(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...]) -> Iterator[Diagnostic]:
        ports = bootstraps(endpoints)
        asked = any(each.mode == "decode" and protocol(each) == MOONCAKE for each in endpoints)
        if asked and len(ports) > 1:
            (first, one), (second, other) = list(ports.items())[:2]
            prefill = worker(job, other)
            yield Diagnostic(
                "bootstrap-ports-differ",
                f"`{role.name}` is told one bootstrap port, and `{one.name}` has {first}, `{other.name}` {second}",
                prefill.place("replicas" if prefill.replicas > 1 else "gpus"),
                help="let each prefill worker have nodes of its own, as one server",
            )


ADAPTER = Sidecar()
