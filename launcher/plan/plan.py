"""From a job to its plan. Asks nothing of the world: the same job gives the same bytes everywhere."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from launcher.images.pin import pinned
from launcher.model.duration import seconds
from launcher.model.job import BENCHMARK, Job, Role
from launcher.plan.addresses import addresses
from launcher.plan.batch import batch
from launcher.plan.fault import diagnostic
from launcher.plan.file import files, setup
from launcher.plan.outline import Outline, outline
from launcher.plan.ports import EVENTS, HTTP
from launcher.plan.share import share
from launcher.plan.step import Mount, Plan, Step, Target
from launcher.roles.base import Adapters, Endpoint, Net, Replica, Task
from launcher.roles.placeholder import WORKERS_FILE
from launcher.roles.said import said
from launcher.run.record import record
from launcher.run.script import File, Gate, Stop, ref
from launcher.text.diagnostic import Refused

# The first completion of a large model also compiles and warms up.
_COMPLETION_SECONDS = 60.0
_COMPLETION_EVERY = 0.5


@record
class _Part:
    """A step before it knows the others."""

    name: str
    replica: Replica
    task: Task
    nodes: tuple[int, ...]
    rank: int
    named: Mapping[str, range] = field(default_factory=dict)

    @property
    def gpus(self) -> tuple[int, ...]:
        """The devices it has on each of its nodes."""
        return self.replica.gpus if self.task.gpus is None else self.task.gpus

    @property
    def ports(self) -> Mapping[str, int]:
        """What it listens on."""
        if self.task.ports is not None:
            return self.task.ports
        return {} if self.rank else self.replica.ports

    @property
    def spans(self) -> Mapping[str, int]:
        """How many ports it listens on from one of these on, where it is more than one."""
        wide = {name: port.span for name, port in self.replica.role.manifest.ports.items() if port.span > 1}
        return {name: count for name, count in {**wide, **self.task.spans}.items() if name in self.ports}

    @property
    def listened(self) -> Mapping[str, int]:
        """Its ports, those that the recipe names among them."""
        return {**self.ports, **{name: ports.start for name, ports in self.named.items()}}

    @property
    def spread(self) -> Mapping[str, int]:
        """The spans of all of these."""
        return {**self.spans, **{name: len(ports) for name, ports in self.named.items() if len(ports) > 1}}


@record
class _Kind:
    """What all steps of a role have in common."""

    setup: str | None
    mounts: tuple[Mount, ...]
    after: tuple[str, ...]
    stop: Stop
    reference: str | None = None


def plan(job: Job, adapters: Adapters) -> Plan:
    """The plan of `job`. Raises `Refused` with every fault of its outline; the checks find the same ones."""
    base = outline(job, adapters)
    if base.faults:
        raise Refused([diagnostic(fault, job) for fault in base.faults])
    net = _net(job, adapters, base)
    url = _url(base, net)
    parts = [part for replica in base.replicas for part in _parts(replica, adapters, net)]
    kinds = _kinds(job, base, parts)
    told = {BENCHMARK: addresses(net)}
    steps = tuple(
        _step(
            part,
            kinds[part.replica.role.name],
            _environment(part, url) | told.get(part.replica.role.name, {}),
            share(job.cluster.node, len(part.gpus)),
        )
        for part in parts
    )
    targets = tuple(_targets(parts, adapters))
    roles = {part.replica.role.name: part.replica.role for part in parts}
    return Plan(
        name=job.recipe.name,
        cluster=job.cluster.name,
        nodes=base.layout.nodes,
        url=url,
        served_name=net.served_name,
        steps=steps,
        files=(*files(job, net, url, targets, roles.values()), *_own(roles.values(), adapters, net)),
        endpoints=net.endpoints,
        targets=targets,
        ready=tuple(_ready(job, base.front, steps, url)),
        timeout=net.timeout,
        batch=batch(job, base, steps),
    )


def _own(roles: Iterable[Role], adapters: Adapters, net: Net) -> Iterator[File]:
    for role in roles:
        yield from adapters[role.manifest.adapter].files(role, net)


def _net(job: Job, adapters: Adapters, base: Outline) -> Net:
    path = job.recipe.model.path
    services = [replica for replica in base.replicas if replica.role.mode is None]
    return Net(
        endpoints=tuple(_endpoints(adapters, base)),
        replicas=base.replicas,
        public=base.allocation.public,
        front=base.front,
        served_name=job.served_name,
        model=None if path is None else job.cluster.model(path),
        timeout=seconds(job.recipe.ready.timeout),
        collector=next((f"tcp://{_address(each, EVENTS)}" for each in services if EVENTS in each.ports), None),
    )


def _endpoints(adapters: Adapters, base: Outline) -> Iterator[Endpoint]:
    """All endpoints, with the proxies of those that have one."""
    proxies = {
        (replica.role.beside, replica.index): f"http://{_address(replica, HTTP)}"
        for replica in base.replicas
        if replica.role.beside is not None and HTTP in replica.ports
    }
    count: Counter[str] = Counter()
    for replica in base.replicas:
        for endpoint in adapters[replica.role.manifest.adapter].endpoints(replica):
            proxy = proxies.get((endpoint.role, count[endpoint.role]))
            yield replace(endpoint, proxy=proxy) if proxy else endpoint
            count[endpoint.role] += 1


def _address(replica: Replica, port: str) -> str:
    return f"{ref('ip', replica.nodes[0])}:{replica.ports[port]}"


def _url(base: Outline, net: Net) -> str:
    node = next(replica.nodes[0] for replica in base.replicas if replica.role.name == base.front)
    return f"http://{ref('ip', node)}:{net.public}"


def _parts(replica: Replica, adapters: Adapters, net: Net) -> Iterator[_Part]:
    adapter = adapters[replica.role.manifest.adapter]
    tasks = adapter.tasks(replica, net)
    ranks = sum(endpoint.ranks for endpoint in adapter.endpoints(replica))
    for index, task in enumerate(tasks):
        nodes = task.nodes or replica.nodes[:1]
        # A replica's nodes are consecutive.
        rank = nodes[0] - replica.nodes[0] if task.rank is None else task.rank
        named = dict(_named(replica.role, ranks, index, len(tasks)))
        yield _Part(f"{replica.name}-rank{rank}" if rank else replica.name, replica, task, nodes, rank, named)


def _named(role: Role, ranks: int, index: int, steps: int) -> Iterator[tuple[str, range]]:
    """The ports that the recipe names for a step of a replica, of which each has as many of the ranks as the others."""
    each = max(ranks // steps, 1)
    for found in said(role):
        first = found.first + index * each if found.ranked and ranks > 1 else found.first
        yield found.name, range(first, first + (each if found.ranked else 1))


def _kinds(job: Job, base: Outline, parts: list[_Part]) -> Mapping[str, _Kind]:
    steps: dict[str, list[str]] = {}
    for part in parts:
        steps.setdefault(part.replica.role.name, []).append(part.name)
    found: dict[str, _Kind] = {}
    for role in {part.replica.role.name: part.replica.role for part in parts}.values():
        after = tuple(name for other in base.order.after[role.name] for name in steps.get(other, ()))
        stop = Stop(role.manifest.stop.signal, role.manifest.stop.seconds)
        reference = pinned(role.locked, job.cluster) if role.locked else role.reference
        found[role.name] = _Kind(setup(job, role), _mounts(job, role), after, stop, reference)
    return found


def _step(part: _Part, kind: _Kind, env: Mapping[str, str], share: tuple[int | None, int | None]) -> Step:
    role = part.replica.role
    return Step(
        name=part.name,
        role=role.name,
        nodes=part.nodes,
        words=part.task.words,
        tasks=part.task.processes,
        mpi=part.task.mpi,
        gpus=part.gpus,
        cpus=share[0],
        memory=share[1],
        ports=part.listened,
        spans=part.spread,
        image=role.image,
        reference=kind.reference,
        setup=kind.setup,
        writable=role.setup is not None,
        baked=role.baked.base if role.baked else None,
        mounts=kind.mounts,
        # What a preamble exports comes over all that a step is given, baked or not.
        env={**role.env, **part.task.env, **env, **(role.baked.variables if role.baked else {})},
        env_from=role.env_from,
        after=kind.after,
        gates=part.task.gates,
        lasting=role.name != BENCHMARK,
        stop=kind.stop,
    )


def _mounts(job: Job, role: Role) -> tuple[Mount, ...]:
    """The role's mounts, and for workers in containers the model where no mount has it already."""
    found = [Mount(mount.source, mount.target, mount.read_only) for mount in role.mounts]
    path = job.recipe.model.path
    model = None if path is None else job.cluster.model(path)
    if role.mode is None or model is None or not model.startswith("/") or job.cluster.runtime == "none":
        return tuple(found)
    if not any(_within(model, mount.target) for mount in found):
        found.append(Mount(model, model, read_only=True))
    return tuple(found)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _environment(part: _Part, url: str) -> dict[str, str]:
    """What every container is told, so that commands need no templating."""
    known = part.replica.ports if part.task.ports is None else part.task.ports
    ports = {f"LAUNCH_PORT_{name.upper()}": str(number) for name, number in known.items()}
    return {
        "LAUNCH_IP": ref("ip", part.nodes[0]),
        "LAUNCH_RANK": str(part.rank),
        "LAUNCH_REPLICA": str(part.replica.index),
        **ports,
        "LAUNCH_URL": url,
        "LAUNCH_WORKERS_FILE": f"{ref('run')}/{WORKERS_FILE}",
    }


def _targets(parts: list[_Part], adapters: Adapters) -> Iterator[Target]:
    """Every step that serves metrics, once: followers have no port, and are never scraped."""
    for part in parts:
        role = part.replica.role
        metrics = adapters[role.manifest.adapter].metrics(role)
        if metrics is not None and metrics.port in part.ports:
            address = f"{ref('ip', part.nodes[0])}:{part.ports[metrics.port]}"
            yield Target(part.name, role.name, address, metrics.path)


def _ready(job: Job, front: str, steps: tuple[Step, ...], url: str) -> Iterator[Gate]:
    """Every worker again, then the router's own view, then one real completion through the public URL."""
    workers = {role.name for role in job.workers}
    routers = {job.router.name, front, *(each.role for each in job.router.manifest.implies)} - workers
    for roles in (workers, routers):
        for step in steps:
            if step.role in roles:
                yield from step.gates
    yield Gate("complete", url, model=job.served_name, every=_COMPLETION_EVERY, patience=_COMPLETION_SECONDS)
