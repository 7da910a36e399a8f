"""No router: one worker of any engine owns the public port."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from launcher.model.job import Job, Role
from launcher.roles.base import Adapter, Endpoint, Net, Replica, Task
from launcher.text.diagnostic import Diagnostic


class Direct(Adapter):
    """Starts nothing; the only worker is the front."""

    codes: ClassVar[Mapping[str, str]] = {
        "router-missing": """Several workers, or prefill and decode, have no router

Without a router nothing spreads requests over workers or hands a prompt from prefill to decode. Exactly one
server can own the public port: one replica of `[roles.worker]`, whose data-parallel ranks it balances itself. For more,
name a router: `[router] kind = …`.""",
        "public-port-not-http": """Without a router a gRPC worker would own the public port

Clients and the launcher's own completion speak HTTP there. `smg` speaks gRPC to its workers and HTTP to clients.""",
    }

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        return ()

    def front(self, job: Job) -> str:
        return job.workers[0].name if job.workers else job.router.name

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        count = max(sum(worker.replicas for worker in job.workers), len(endpoints))
        modes = {worker.mode for worker in job.workers}
        if count > 1 or not modes <= {"aggregate"}:
            yield _missing(job, count, ranks=count > sum(worker.replicas for worker in job.workers))
        elif any(endpoint.scheme != "http" for endpoint in endpoints):
            yield Diagnostic(
                "public-port-not-http",
                f"`{endpoints[0].role}` serves {endpoints[0].scheme} on the public port",
                job.workers[0].place("flags", part="key"),
                help='add `[router] kind = "smg"`, or let the worker serve HTTP',
            )


def _missing(job: Job, count: int, *, ranks: bool) -> Diagnostic:
    last = job.workers[-1]
    if any(worker.mode != "aggregate" for worker in job.workers):
        message, place = "prefill and decode need a router", last.place()
    elif ranks:
        message, place = f"the {count} servers of `{last.name}` need a router", last.place("flags", part="key")
    else:
        message, place = f"{count} workers need a router", last.place("replicas")
    return Diagnostic(
        "router-missing",
        message,
        place,
        help="add `[router]` with a `kind`, or keep one replica of `[roles.worker]`"
        if not ranks
        else "add `[router]` with a `kind`, or let one server have all ranks",
    )


ADAPTER = Direct()
