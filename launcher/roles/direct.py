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
replica of `[roles.worker]` can own the public port; for more, name a router: `[router] kind = …`.""",
    }

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        return ()

    def front(self, job: Job) -> str:
        return job.workers[0].name if job.workers else job.router.name

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        count = sum(worker.replicas for worker in job.workers)
        modes = {worker.mode for worker in job.workers}
        if count <= 1 and modes <= {"aggregate"}:
            return
        last = job.workers[-1]
        yield Diagnostic(
            code="router-missing",
            message=f"{count} workers need a router" if modes == {"aggregate"} else "prefill and decode need a router",
            place=last.place("replicas") if modes == {"aggregate"} else last.place(),
            help="add `[router]` with a `kind`, or keep one replica of `[roles.worker]`",
        )


ADAPTER = Direct()
