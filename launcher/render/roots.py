"""Roots that are made once on a node and joined by several steps or tasks.

Facts, of pyxis 0.24: every step unpacks its image (0.2 s to join a root, 2 to 25 s to unpack one). A named root is
made by a preparing step (`:create`) and joined once that has ended well (`:no_exec`, pyxis 0.14), read-only: what one
step wrote all would see. A site that mounts images by squashfuse unpacks named ones alone, so nothing is shared there.

A role with a preamble writes to a root of its own, in its own step. Where such a step has several tasks on a node, a
preparing step runs the preamble once there and the tasks join read-only: what it exported is lost, its files stay.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from launcher.images.reference import number
from launcher.model.cluster import Cluster
from launcher.plan.step import Plan, Step
from launcher.run.record import record
from launcher.run.script import ref

_JOIN_SINCE = (0, 14)


@record
class Shared:
    """A root made on each of `nodes`. `name` has no late references; `step` is one that joins it, as a sample;
    with `setup` the step's preamble is run in it.
    """

    name: str
    nodes: tuple[int, ...]
    step: Step
    setup: bool = False

    @property
    def container(self) -> str:
        """The value of `--container-name`: two runs of one job have different ones."""
        return f"launch-{ref('job')}-{ref('id')}-{self.name}"


def crowded(step: Step) -> bool:
    """Whether a step with a preamble has several tasks on a node."""
    return step.writable and step.tasks > len(step.nodes)


def shared(plan: Plan, cluster: Cluster) -> Mapping[str, Shared]:
    """Step → the root it joins. Steps that start a root of their own are not in it."""
    if cluster.runtime == "none":
        return {}
    name = _namer()
    found = {step.name: Shared(name(step.name), step.nodes, step, setup=True) for step in plan.steps if crowded(step)}
    if cluster.runtime == "pyxis" and _joins(cluster):
        for image, steps in _by_image(plan).items():
            crowd = Counter(node for step in steps for node in step.nodes)
            joining = [step for step in steps if any(crowd[node] > 1 for node in step.nodes)]
            nodes = tuple(sorted({node for step in joining for node in step.nodes}))
            if joining:
                root = Shared(name(joining[0].image or image), nodes, joining[0])
                found |= {step.name: root for step in joining}
    return found


def _joins(cluster: Cluster) -> bool:
    version = number(cluster.versions.pyxis or "")
    return not cluster.pyxis.squashfuse and (not version or version >= _JOIN_SINCE)


def _by_image(plan: Plan) -> dict[str, list[Step]]:
    found: dict[str, list[Step]] = {}
    for step in plan.steps:
        if not step.writable and step.reference is not None:
            found.setdefault(step.reference, []).append(step)
    return found


def _namer() -> Callable[[str], str]:
    """Names of the letters that enroot takes, each once."""
    given: set[str] = set()

    def name(wanted: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9_.-]", "-", wanted)[:60]
        chosen = next(each for each in _numbered(plain) if each not in given)
        given.add(chosen)
        return chosen

    return name


def _numbered(name: str) -> Iterator[str]:
    yield name
    count = 2
    while True:
        yield f"{name}-{count}"
        count += 1
