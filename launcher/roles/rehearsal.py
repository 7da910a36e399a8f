"""A rehearsal: engines' programs are swapped for the simulated one, and all else is kept."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from launcher.model.catalogue import dump
from launcher.model.cluster import Cluster
from launcher.model.given import Given
from launcher.model.job import Job, Role
from launcher.model.manifest import Metrics, Port
from launcher.roles.base import Adapter, Adapters, Endpoint, Net, Replica, Task
from launcher.roles.vllm_kv import TRANSFER
from launcher.run.script import File, ref
from launcher.text.diagnostic import Diagnostic, Severity

ARCHIVE = "sim.pyz"
"""The simulated engine in the run directory."""

IMAGE = "sim"
"""The image alias it runs in, where the cluster has it; else in the engine's own."""

NODE = 8
"""GPUs of a node of this machine, which has none."""

CODES: Mapping[str, str] = {
    "not-simulated": """There is no simulation of this

`--simulate` starts the simulated engine in the place of vLLM, SGLang and TensorRT-LLM, whose flags it reads by their
catalogue. Of another engine nothing is known that it could pass for. It speaks gRPC as vLLM and SGLang do, not as
TensorRT-LLM, and hands prompts over between vLLM workers in the place of NIXL and of Mooncake.""",
}

_PROGRAMS = frozenset(("vllm", "sglang", "trtllm-serve"))
_SILENT = ("trtllm", "grpc")
_RPC: Mapping[str, str] = {"smg_grpc_proto": "smg-grpc-proto", "grpc_health": "grpcio-health-checking"}
_ZMQ: Mapping[str, str] = {"zmq": "pyzmq", "msgspec": "msgspec"}
MODULES: Mapping[str, Mapping[str, str]] = {
    "grpc": _RPC, "grpc-mode": _RPC, "smg-grpc-mode": _RPC, "kv_events": _ZMQ, "kv-events-config": _ZMQ,
}  # fmt: skip
"""What the simulated engine imports that is no part of Python: a flag or key of the engine it passes for → module →
what pip calls it.
"""


class Rehearsal(Adapter):
    """An engine of which nothing but its program is another."""

    def __init__(self, engine: Adapter) -> None:
        self._engine = engine
        self.reads = engine.reads  # type: ignore[misc]
        self.codes = {**engine.codes, **CODES}  # type: ignore[misc]

    def ports(self, role: Role, nodes: int = 1) -> Mapping[str, Port]:
        return self._engine.ports(role, nodes)

    def steps(self, replica: Replica) -> int:
        return self._engine.steps(replica)

    def metrics(self, role: Role) -> Metrics | None:
        return self._engine.metrics(role)

    def endpoints(self, replica: Replica) -> tuple[Endpoint, ...]:
        return self._engine.endpoints(replica)

    def files(self, role: Role, net: Net) -> Iterator[File]:
        yield from self._engine.files(role, net)
        if role.catalogue is not None:
            yield File(_catalogue(role), text=dump(role.catalogue))

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        return tuple(
            replace(task, words=_words(replica, task, index))
            for index, task in enumerate(self._engine.tasks(replica, net))
        )

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        yield from self._engine.check(job, role, endpoints)
        if role.manifest.program.name not in _PROGRAMS or role.catalogue is None:
            yield Diagnostic(
                "not-simulated",
                f"nothing can pass for `{role.manifest.program.name or role.manifest.name}`",
                role.place("manifest"),
                help="leave `--simulate` out, or use the role manifest of an engine that is simulated",
            )
            return
        own = [each for each in endpoints if each.role == role.name]
        if any((each.wire, each.scheme) == _SILENT for each in own):
            yield Diagnostic(
                "not-simulated",
                f"`{role.name}` serves TensorRT-LLM's gRPC, which the simulated engine does not speak",
                role.place("flags", part="key"),
                help="leave `--simulate` out, or let the workers serve HTTP",
            )
        if any(each.connectors and not any(map(_simulated, each.connectors)) for each in own):
            yield _without(role, own[0].connectors[0])


def _without(role: Role, connector: str) -> Diagnostic:
    """A connector is left out of the rehearsal: between halves prompts do not come over; whole workers send none."""
    half = role.mode != "aggregate"
    kept = "its workers then keep nothing of a KV cache elsewhere"
    lost = "decode then computes every prompt itself" if half else kept
    return Diagnostic(
        "not-simulated",
        f"`{role.name}` {'hands over by' if half else 'has'} {connector}, for which nothing stands in",
        role.place(*(("kv",) if role.kv is not None else Given(role).at(TRANSFER)), part="key"),
        Severity.WARNING,
        help=f"the rehearsal starts; {lost}",
    )


def _simulated(connector: str) -> bool:
    return connector.startswith("Nixl") or connector == "MooncakeConnector"


def _catalogue(role: Role) -> str:
    catalogue = role.catalogue
    return f"sim/{catalogue.program}-{catalogue.version}.json" if catalogue else ""


def _words(replica: Replica, task: Task, index: int) -> tuple[str, ...]:
    rank = index if task.rank is None else task.rank
    name = f"{replica.name}-rank{rank}" if rank else replica.name
    program = replica.role.manifest.program.name or ""
    run = ref("run")
    own = (ref("python"), f"{run}/{ARCHIVE}", "--as", program, f"--catalogue={run}/{_catalogue(replica.role)}")
    return (*own, f"--name={name}", "--", *task.words)


def rehearsed(job: Job, adapters: Adapters) -> tuple[Job, Adapters]:
    """The job with the simulated engine in the place of others, and adapters for it."""
    cluster = _equipped(job.cluster)
    others = {role.name for role in job.workers if role.manifest.adapter != IMAGE}
    roles = tuple(_imaged(role, cluster) if role.name in others else role for role in job.roles)
    names = {role.manifest.adapter for role in roles if role.name in others}
    wrapped = {name: Rehearsal(adapters[name]) for name in names}
    return replace(job, roles=roles, cluster=cluster, rehearsed=True), {**adapters, **wrapped}


def _imaged(role: Role, cluster: Cluster) -> Role:
    """The role in the simulated engine's image, which needs little but Python; without containers in this one."""
    program = role.manifest.program.model_copy(update={"needs": ["python3"], "modules": MODULES})
    role = replace(role, manifest=role.manifest.model_copy(update={"program": program}))
    if cluster.runtime == "none":
        return replace(role, image=None, reference=None)
    image = cluster.images.get(IMAGE)
    return role if image is None else replace(role, image=IMAGE, reference=image.reference, baked=None)


def _equipped(cluster: Cluster) -> Cluster:
    """The cluster; one of this machine without GPUs has some, and as many nodes as are wanted."""
    if cluster.scheduler != "local" or cluster.node.gpus:
        return cluster
    return cluster.model_copy(update={"node": cluster.node.model_copy(update={"gpus": NODE}), "nodes": None})
