"""llm-d's endpoint picker, told of its endpoints by a file.

Facts, of epp 0.10.0: without `--pool-name` it ends (`pkg/epp/server/options.go:362`) although nothing looks for a pool.
`--secure-serving` is on unless told, and Envoy's guide for it is plain text; `--health-checking` is off, and without it
Envoy's health check of the port fails. Prometheus text is on `--metrics-port`, on every address; its gauge
`llm_d_epp_ready_endpoints` counts endpoints whose metrics it read within the last 2 s, and gRPC health says SERVING
with none.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import ClassVar

from launcher.model.job import Job, Role
from launcher.model.manifest import Port
from launcher.roles.base import Adapter, Endpoint, Net, Replica, Task
from launcher.roles.command import flags, gates, program
from launcher.roles.llm_d import blocks, events, plugins
from launcher.roles.llm_d.addresses import ENDPOINTS_FILE, EPP_FILE, GRPC, HEALTH, METRICS, in_run
from launcher.roles.llm_d.configuring import configuration
from launcher.roles.llm_d.picking import entries, length
from launcher.run.script import File
from launcher.text.diagnostic import Diagnostic

POOL = "launch"
"""Name of the pool: the label `name` of its metrics."""

NAMESPACE = "default"

_LIMIT = 1 << 20
"""Bytes of the endpoints file (`pkg/epp/framework/plugins/datalayer/discovery/file/plugin.go:230`)."""
_FEW = 1000


class Epp(Adapter):
    """One process, which has the state of all routing."""

    reads: ClassVar[frozenset[str]] = frozenset(("epp_config",))

    codes: ClassVar[Mapping[str, str]] = {
        **plugins.CODES,
        **events.CODES,
        **blocks.CODES,
        "too-many-endpoints": """The EPP does not read so long a list of workers

Its file of endpoints may have 1 MiB (epp 0.10.0 and 0.11.0), which some 6,000 workers or ranks fill; the EPP ends at a
longer one. What counts is each worker and each rank with an address of its own.""",
        "not-alone": """Several of what llm-d has one of

What the EPP knows of prefixes and load is in the one process, and Envoy owns the public port.""",
    }

    def ports(self, role: Role, nodes: int = 1) -> Mapping[str, Port]:
        found = {GRPC: Port(base=9002), HEALTH: Port(base=9003), METRICS: Port(base=9090)}
        if events.collects(role):
            found[events.PORT] = Port(base=5557)
        return {**found, **role.manifest.ports}

    def files(self, role: Role, net: Net) -> Iterator[File]:
        yield File(ENDPOINTS_FILE, data=entries(net.endpoints))
        yield File(EPP_FILE, data=configuration(role, net))

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        words = (
            *program(replica, net),
            f"--pool-name={POOL}",
            f"--pool-namespace={NAMESPACE}",
            f"--config-file={in_run(EPP_FILE)}",
            f"--grpc-port={replica.ports[GRPC]}",
            f"--grpc-health-port={replica.ports[HEALTH]}",
            f"--metrics-port={replica.ports[METRICS]}",
            "--secure-serving=false",
            "--health-checking=true",
            *flags(replica.role),
        )
        return (Task(words, gates=gates(replica, net)),)

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        yield from alone(role)
        yield from _crowded(job, endpoints)
        yield from plugins.findings(role, any(each.mode != "aggregate" for each in endpoints))
        yield from events.findings(job, role, endpoints)
        yield from blocks.findings(job, role)


def alone(role: Role) -> Iterator[Diagnostic]:
    """A finding where the role has several replicas."""
    if role.replicas > 1:
        yield Diagnostic(
            "not-alone",
            f"llm-d has one `{role.name}`, and `replicas` says {role.replicas}",
            role.place("replicas"),
            help="take `replicas` out",
        )


def _crowded(job: Job, endpoints: tuple[Endpoint, ...]) -> Iterator[Diagnostic]:
    """A finding where the file of endpoints, as it is written, can be longer than the EPP reads."""
    if len(endpoints) < _FEW:
        return
    size = length(endpoints)
    if size > _LIMIT:
        role, count = Counter(each.role for each in endpoints).most_common(1)[0]
        yield Diagnostic(
            "too-many-endpoints",
            f"the list of {len(endpoints)} endpoints has up to {size} bytes, and the EPP reads {_LIMIT}",
            next(worker for worker in job.workers if worker.name == role).place("replicas"),
            help=f"make fewer of the {count} that `{role}` has, or several runs of them",
        )


ADAPTER = Epp()
