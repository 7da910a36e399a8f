"""SGLang: one server on all nodes of a replica, the first of which has the API.

Facts of SGLang 0.5.5 to 0.5.23. Data-parallel attention has its groups inside the tensor-parallel ranks and takes no
GPUs: `--dp-size` with `--enable-dp-attention`, from 0.5.23 also `--attn-dp-size`; any other `--dp-size` is a number of
whole copies, which do not span nodes (`compute_world_size`, `validation_hook.py:199` of 0.5.23). From
`--dist-init-addr` on six more ports are used; without it they are counted from the HTTP port (`PortArgs`). The default
host is loopback. `SGLANG_HOST_IP` is the address that other nodes are told. A prefill worker's bootstrap server listens
on 8998 unless told. Behind a router a half must skip its warm-up, which would need the other half. Other nodes than the
first answer `/health` too, and nothing else. gRPC is `--grpc-mode` up to 0.5.9 and `--smg-grpc-mode` from 0.5.16; it
takes the place of HTTP on `--port`. KV events: `port` plus the rank's number, bound where the endpoint has a `*`.
Without `--dist-init-addr` ranks meet on `--nccl-port`. One that is not told is searched for at random between 22000 and
29999 (0.5.23; `get_free_port_below_ephemeral`), where routers have ports that they bind later. Copies of the model need
one each, so that they are left to search.
"""

import json
from collections.abc import Iterator, Mapping
from typing import ClassVar

from launcher.model.given import Given
from launcher.model.job import Job, Role
from launcher.model.manifest import Metrics, Port
from launcher.roles.base import Endpoint, Handoff, Net, Replica, Scheme, Task, whole
from launcher.roles.base import nodes as nodes_of
from launcher.roles.command import flags, gates, program
from launcher.roles.engine import CODES, HTTP, Engine, configured, events_twice, file, split, twice
from launcher.roles.said import EVENTS
from launcher.run.script import File, Gate, ref
from launcher.text.diagnostic import Diagnostic

BOOTSTRAP, INIT, NCCL, PUBLISH = "bootstrap", "dist_init", "nccl", "kv_events"
BACKEND = "disaggregation-transfer-backend"
_TP, _PP, _DP, _ATTENTION = "tp-size", "pp-size", "dp-size", "attn-dp-size"
_DERIVED = 7
"""Ports from that of `--dist-init-addr` on."""
_MOST = 1000


class Sglang(Engine):
    """An endpoint a replica, whatever the number of its nodes."""

    sizes: ClassVar[tuple[str, ...]] = (_TP, _PP, _DP)
    reads: ClassVar[frozenset[str]] = frozenset(("kv", "kv_events", "config"))
    codes: ClassVar[Mapping[str, str]] = CODES

    def gpus(self, given: Given) -> int:
        return given.number(_TP) * given.number(_PP) * _copies(given)

    def ports(self, role: Role, nodes: int = 1) -> Mapping[str, Port]:
        given = Given(role)
        found = {HTTP: Port(base=6100, step=32)}
        if role.mode == "prefill":
            found[BOOTSTRAP] = Port(base=7200)
        if nodes > 1 or _groups(given) > 1:
            found[INIT] = Port(base=8300, step=10, span=_DERIVED)
        elif _copies(given) == 1:
            found[NCCL] = Port(base=17500, everywhere=True)
        if role.kv_events:
            found[PUBLISH] = Port(base=5550, span=min(_ranks(given), _MOST))
        return {**found, **role.manifest.ports}

    def metrics(self, role: Role) -> Metrics | None:
        return None if _scheme(Given(role)) == "grpc" else role.manifest.metrics

    def endpoints(self, replica: Replica) -> tuple[Endpoint, ...]:
        role, given = replica.role, Given(replica.role)
        if role.mode is None:
            return ()
        handoff: Handoff = "none" if role.mode == "aggregate" else "bootstrap"
        return (
            Endpoint(
                name=replica.name,
                role=role.name,
                url=_url(replica, given),
                mode=role.mode,
                wire="sglang",
                scheme=_scheme(given),
                handoff=handoff,
                ranks=_ranks(given),
                bootstrap=replica.ports.get(BOOTSTRAP),
                node=replica.nodes[0],
            ),
        )

    def files(self, role: Role, net: Net) -> Iterator[File]:
        yield from file(role)

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        given = Given(replica.role)
        return tuple(_task(replica, given, net, rank) for rank in range(len(replica.nodes)))

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        yield from super().check(job, role, endpoints)
        given, count = Given(role), nodes_of(role, job.cluster.node.gpus)
        fits = self.gpus(given) == role.gpus and whole(role.gpus, job.cluster.node.gpus)
        if fits and count > 1 and _copies(given) > 1:
            reason = f"{_copies(given)} copies of the model in one SGLang server cannot be on {count} nodes"
            yield split(role, given, reason, (_DP,))
        if role.kv is not None and given.key(BACKEND) is not None:
            yield twice(role, given.at(BACKEND), BACKEND)
        if role.kv_events and given.key(EVENTS) is not None:
            yield events_twice(role, given.at(EVENTS), EVENTS)


def _groups(given: Given) -> int:
    """Groups of attention data parallelism, 1 where there is none."""
    if given.number(_ATTENTION) > 1:
        return given.number(_ATTENTION)
    return max(given.number(_DP), 1) if given.on("enable-dp-attention") else 1


def _copies(given: Given) -> int:
    """Whole copies of the model."""
    return 1 if _groups(given) > 1 else given.number(_DP)


def _ranks(given: Given) -> int:
    return max(_groups(given), given.number(_DP), 1)


def _scheme(given: Given) -> Scheme:
    return "grpc" if given.on("grpc-mode") or given.on("smg-grpc-mode") else "http"


def _url(replica: Replica, given: Given) -> str:
    return f"{_scheme(given)}://{ref('ip', replica.nodes[0])}:{replica.ports[HTTP]}"


def _task(replica: Replica, given: Given, net: Net, rank: int) -> Task:
    role, ip = replica.role, ref("ip", replica.nodes[rank])
    words = (
        *program(replica, net, rank),
        *(() if net.model is None else (f"--model-path={net.model}",)),
        *configured(role),
        f"--served-model-name={net.served_name}",
        f"--host={ip}",
        f"--port={replica.ports[HTTP]}",
        *_spread(replica, rank),
        *_disaggregated(replica, given),
        *_published(replica, given, net),
        # Without it there is no `/metrics`.
        *(() if given.key("enable-metrics") else ("--enable-metrics",)),
        *flags(role),
    )
    ports = {name: port for name, port in replica.ports.items() if rank == 0}
    spans = {name: count for name, count in ((INIT, _DERIVED), (PUBLISH, _ranks(given))) if name in ports and count > 1}
    return Task(
        words,
        {"SGLANG_HOST_IP": ip},
        () if rank else _gates(replica, given, net),
        (replica.nodes[rank],),
        rank=rank,
        ports=ports,
        spans=spans,
    )


def _spread(replica: Replica, rank: int) -> Iterator[str]:
    count = len(replica.nodes)
    if count > 1:
        yield f"--nnodes={count}"
        yield f"--node-rank={rank}"
    if INIT in replica.ports:
        yield f"--dist-init-addr={ref('ip', replica.nodes[0])}:{replica.ports[INIT]}"
    if NCCL in replica.ports:
        yield f"--nccl-port={replica.ports[NCCL]}"


def _disaggregated(replica: Replica, given: Given) -> Iterator[str]:
    role = replica.role
    if role.mode not in ("prefill", "decode"):
        return
    yield f"--disaggregation-mode={role.mode}"
    if BOOTSTRAP in replica.ports:
        yield f"--disaggregation-bootstrap-port={replica.ports[BOOTSTRAP]}"
    if role.kv is not None:
        yield f"--{BACKEND}={role.kv}"
    if given.key("skip-server-warmup") is None:
        yield "--skip-server-warmup"


def _published(replica: Replica, given: Given, net: Net) -> Iterator[str]:
    if PUBLISH not in replica.ports:
        return
    topic = f"kv@{_url(replica, given).partition('://')[2]}@{net.served_name}"
    table = {"publisher": "zmq", "endpoint": f"tcp://*:{replica.ports[PUBLISH]}", "topic": topic}
    yield f"--{EVENTS}={json.dumps(table, separators=(',', ':'), ensure_ascii=False)}"


def _gates(replica: Replica, given: Given, net: Net) -> tuple[Gate, ...]:
    if _scheme(given) == "grpc":
        return (Gate("tcp", f"tcp://{ref('ip', replica.nodes[0])}:{replica.ports[HTTP]}"),)
    return gates(replica, net)


ADAPTER = Sglang()
