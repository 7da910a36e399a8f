"""A container that needs no logic: its role manifest says everything."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from launcher.model.job import Job, Role
from launcher.roles.base import Adapter, Endpoint, Net, Replica, Task
from launcher.roles.command import flags, gates, program
from launcher.run.script import ref
from launcher.text.diagnostic import Diagnostic


class Plain(Adapter):
    """The manifest's command and the role's flags, on each node of a replica; gates on its first node.

    As a worker it is an endpoint at its port `http`, taken for a server of the OpenAI API as vLLM's is.
    """

    codes: ClassVar[Mapping[str, str]] = {
        "command-missing": """A role manifest without logic has no command

With `adapter = "plain"` the role manifest says everything about its container, so it must say what to
start: `[program] command`, a list of words.""",
        "worker-without-port": """A worker has no port that a router could call

Its role manifest must have `[ports.http]`, with the `base` from which each replica's port is allocated.""",
    }

    def endpoints(self, replica: Replica) -> tuple[Endpoint, ...]:
        if replica.role.mode is None or "http" not in replica.ports:
            return ()
        url = f"http://{ref('ip', replica.nodes[0])}:{replica.ports['http']}"
        return (Endpoint(replica.name, replica.role.name, url, replica.role.mode, "vllm", node=replica.nodes[0]),)

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        return tuple(
            Task(
                words=(*program(replica, net, rank), *flags(replica.role)),
                gates=gates(replica, net) if rank == 0 else (),
                nodes=(node,),
            )
            for rank, node in enumerate(replica.nodes)
        )

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        if not role.manifest.program.command:
            yield Diagnostic(
                code="command-missing",
                message=f"the role manifest `{role.manifest.name}` of role `{role.name}` has no command",
                place=role.place("manifest"),
                help='add `[program] command = ["…"]` to it',
            )
        if role.mode is not None and "http" not in role.manifest.ports:
            yield Diagnostic(
                code="worker-without-port",
                message=f"worker role `{role.name}` has a role manifest without a port `http`: `{role.manifest.name}`",
                place=role.place("manifest"),
                help="add `[ports.http] base = 6100` to it",
            )


ADAPTER = Plain()
