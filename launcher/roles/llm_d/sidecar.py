"""The P/D sidecar: before each decode worker (or rank) that the EPP can pick, on its node.

Facts, of pd-sidecar 0.10.0: it calls its worker at `localhost`, so it runs on the worker's node and the worker listens
there too. Its own `/health` does not ask the worker. `--secure-proxy` is on unless told, and Envoy would speak plain
HTTP to a TLS port. Flags that it does not know make it end with 0.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from launcher.model.job import Job, Role
from launcher.roles.base import Adapter, Endpoint, Net, Replica, Task
from launcher.roles.command import flags, gates, program
from launcher.roles.llm_d.addresses import HTTP
from launcher.roles.llm_d.protocol import protocol
from launcher.text.diagnostic import Diagnostic

_FOLLOWED = ("replicas", "gpus", "on")


class Sidecar(Adapter):
    """One process for each replica."""

    codes: ClassVar[Mapping[str, str]] = {
        "follows-another": """A role that follows another says where or how often it runs

There is one llm-d sidecar before each decode worker that has an address, on its node: both follow from the role
`decode`, and a sidecar needs no GPUs.""",
    }

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        endpoint = net.before(replica)
        words = (
            *program(replica, net),
            f"--port={replica.ports[HTTP]}",
            f"--model-server-port={endpoint.url.rpartition(':')[2]}",
            f"--kv-connector={protocol(endpoint)}",
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


ADAPTER = Sidecar()
