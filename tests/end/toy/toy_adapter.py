"""A router of another package: one module, one role manifest, and a name in the entry-point group."""

from launcher.roles.base import Adapter, Net, Replica, Task
from launcher.roles.command import flags, gates, program


class Toy(Adapter):
    """Told every endpoint, behind one flag."""

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        urls = (word for each in net.endpoints for word in ("--to", each.url))
        words = (*program(replica, net), f"--port={replica.ports['http']}", *urls, *flags(replica.role))
        return (Task(words, gates=gates(replica, net)),)


ADAPTER = Toy()
