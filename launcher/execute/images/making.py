"""One definition made into what a cluster wants: pushed to a registry, or a file of its store; and written down."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from launcher.execute.images import aliases, definitionfile, inspect, locks, results
from launcher.execute.images.aliases import Target
from launcher.execute.images.build import Base, Builds, Order, workplace
from launcher.execute.images.built import Built
from launcher.execute.images.failure import Failure
from launcher.execute.images.push import Push
from launcher.execute.images.results import Result
from launcher.execute.images.store import Store, facts
from launcher.execute.world import World
from launcher.images import building
from launcher.images.reference import Reference
from launcher.model.site import Site


@dataclass(frozen=True)
class Made:
    """What came of an order. `reference` is where it was pushed to, `digest` what that names; `file` is of the store;
    `local` what a daemon has it as; `fresh` whether it was built now; `wheels` is the digest of those it is built from.
    """

    order: Order
    base: str
    fresh: bool = True
    reference: str = ""
    digest: str = ""
    file: str = ""
    local: str = ""
    wheels: str = ""

    @property
    def shown(self) -> str:
        """Where it is, for people."""
        return ", ".join(filter(None, (self.reference, self.file, "" if self.reference else self.local)))

    def document(self) -> dict[str, Any]:
        """For `--json`."""
        definition, order = self.order.definition, self.order
        own = {"name": definition.name, "arch": order.arch, "key": order.key, "builder": order.builder}
        more = {"args": dict(definition.args), "programs": definition.programs, "base": self.base, "built": self.fresh}
        more["wheels"] = self.wheels or None
        where = {name: getattr(self, name) or None for name in ("reference", "digest", "file", "local")}
        return {**own, **more, **where}


@dataclass(frozen=True)
class Making:
    """Makes; `lock` is where results are written down. What is there already is made anew where `again` says so; with
    `within`, what is in no other folder than the store is there.
    """

    world: World
    builds: Builds
    site: Site
    store: Store | None
    lock: Path
    again: bool = False
    within: bool = False

    def planned(self, order: Order, goals: Sequence[Reference]) -> Made:
        """What would be made, on which base. Raises Failure."""
        base = str(self.builds.base(order).upon)
        file = f"{self.store.maker.suffix} in {self.store.folder}" if self.store else ""
        local = _name(order) if order.builder == "docker" else ""
        return Made(
            order,
            base,
            fresh=False,
            reference=str(goals[0]) if goals else "",
            file=file,
            local=local,
            wheels=order.wheeled,
        )

    def make(self, order: Order, goals: Sequence[Reference]) -> Made:
        """Builds, pushes and stores. Raises Failure, Refused and OSError."""
        there = None if self.again else self._pushed(order, goals) if goals else self._there(order)
        if there is not None:
            self.builds.told(f"`{order.definition.name}` is built already: {there.shown}")
            return there
        base = self.builds.base(order)
        with workplace(self.world, self.store) as work:
            if order.builder == "apptainer":
                return self._sif(order, base, work)
            if order.builder == "layers":
                return self._layers(order, base, goals, work)
            return self._docker(order, base, goals, work)

    def recorded(self, made: Made, alias: str, goal: Target | None) -> Iterator[str]:
        """Writes down what was made, and yields lines on it; with a `goal` the alias is to mean it."""
        cluster = self.site.cluster
        reference = made.file or made.reference
        if not reference or cluster.runtime == "none":
            if goal is not None:
                message = f"`{made.order.definition.name}` is nowhere that nodes see"
                raise Failure("faulty", message, "`--push`, or `[store]` of the cluster")
            return
        order = made.order
        result = Result(order.definition, order.arch, order.key, made.base, reference, made.wheels)
        site = self.site
        if goal is not None:
            results.adopt(self.world, goal, site, alias, result)
            yield f"`{alias}` is in `{goal.file}`"
            site = aliases.read(goal.name)
        names = list(results.meant(site, result))
        names += [alias] if goal is not None and alias not in names else []
        # What a store has, another project may have built.
        new = made.fresh or bool(made.reference) or self._there(order) is None
        if new or goal is not None:
            results.record(self.world, self.lock, site, names, result)
        if names and new:
            yield f"{', '.join(f'`{name}`' for name in names)} of cluster `{cluster.name}` locked in `{self.lock}`"

    def _docker(self, order: Order, base: Base, goals: Sequence[Reference], work: Path) -> Made:
        name = self.builds.docker(order, base, work)
        made = Made(order, str(base.upon), local=name, wheels=order.wheeled)
        for goal in goals:
            login = self.builds.registry.transport.logins.login(goal)
            try:
                self.builds.daemon().push(name, goal, login, self.builds.progress)
            finally:
                self.builds.registry.forget(goal)
            made = replace(made, reference=made.reference or str(goal), digest=self.builds.registry.digest(goal))
        if self.store is None:
            return made
        built = self.builds.given(name, work)
        return replace(made, file=str(self.store.take(_local(order), built)))

    def _layers(self, order: Order, base: Base, goals: Sequence[Reference], work: Path) -> Made:
        if not goals and self.store is None:
            message = f"`{order.definition.name}` would be put together for nobody"
            raise Failure("faulty", message, "`--push`, `--store FOLDER`, or `[store]` of the cluster")
        built = self.builds.layers(order, base, work)
        made = Made(order, str(base.upon), wheels=order.wheeled)
        if goals:
            self._push(goals, built)
            made = replace(made, reference=str(goals[0]), digest=built.remote.digest)
        if self.store is None:
            return made
        path = self.store.take(_local(order), built)
        return replace(made, file=str(path))

    def _push(self, goals: Sequence[Reference], built: Built) -> None:
        push = Push.made(self.world, self.builds.registry.transport.plain, self.builds.progress)
        try:
            push.image(goals[0], built)
            for goal in goals:
                push.document(goal, built.documents[0], goal.tag or "latest")
        finally:
            push.close()
            for goal in goals:
                self.builds.registry.forget(goal)

    def _sif(self, order: Order, base: Base, work: Path) -> Made:
        store = self.store
        if store is None or store.maker.suffix != ".sif":
            raise Failure("faulty", "Apptainer builds files for a store of SIF files", "`--cluster` of such a one")
        origin = {"reference": _name(order), "arch": order.arch, "base": str(base.upon), "key": order.key}
        transport = self.builds.registry.transport
        made = []

        def build(part: Path) -> None:
            definitionfile.build(self.world, order, base, transport, work, store.maker.compressor).replace(part)
            made.append(part)

        path = store.put(order.definition.name, order.mark, origin, build, again=order.fresh)
        return Made(order, str(facts(path).get("base") or base.upon), bool(made), file=str(path), wheels=order.wheeled)

    def _pushed(self, order: Order, goals: Sequence[Reference]) -> Made | None:
        """What the registry has under every goal, where that is of the same key. Raises Failure and OSError."""
        found = [self._labelled(order, goal) for goal in goals]
        labels = found[0]
        if labels is None or any(each != labels for each in found):
            return None
        file = str(self.store.ensure(goals[0], order.arch)) if self.store else ""
        digest = self.builds.registry.digest(goals[0])
        wheels = labels.get(building.WHEELS, "")
        return Made(order, str(building.upon(labels)), False, str(goals[0]), digest, file, wheels=wheels)

    def _labelled(self, order: Order, goal: Reference) -> Mapping[str, str] | None:
        """The labels of an image in a registry that is just what is to be built; None where there is none."""
        try:
            found = self.builds.registry.image(goal, order.arch)
        except Failure as failure:
            if failure.kind in ("unreachable", "limited"):
                raise
            return None  # a registry may deny what does not exist
        labels = dict(found.config.labels)
        met = order.met(labels.get(building.KEY), labels.get(building.WHEELS)) and found.config.arch == order.arch
        return labels if met else None

    def _there(self, order: Order) -> Made | None:
        """What was built of the same already, where it is still there."""
        lock, cluster = locks.read(self.lock), self.site.cluster
        for each in lock.image if lock else ():
            if order.met(each.build, each.wheels) and each.cluster == cluster.name and each.reference.startswith("/"):
                try:
                    inspect.file(Path(each.reference))
                except Failure:
                    continue
                if self.within and self.store is not None and not self.store.holds(Path(each.reference)):
                    continue
                return Made(order, each.base or "", fresh=False, file=each.reference, wheels=each.wheels or "")
        return None


def _local(order: Order) -> Reference:
    return building.local(order.definition, building.tag(order.definition, order.key))


def _name(order: Order) -> str:
    return str(_local(order)).removeprefix("docker://")
