"""Plans made by hand: steps on nodes of a Slurm cluster."""

from typing import Any

from launcher.model.cluster import Cluster
from launcher.plan.step import Batch, Component, Plan, Step
from launcher.run.script import shown
from tests.jobs import cluster


def site(**data: Any) -> Cluster:
    """A cluster with Slurm and pyxis; `data` changes it."""
    return cluster(**{"scheduler": "slurm", "runtime": "pyxis", "node": {"gpus": 8}, **data})


def step(name: str = "worker-0", nodes: tuple[int, ...] = (0,), **fields: Any) -> Step:
    return Step(
        **{"name": name, "role": "worker", "nodes": nodes, "words": ("serve",), "reference": "a.io/b:1", **fields}
    )


def batch(*nodes: int, **fields: Any) -> Batch:
    """One component for each number of nodes."""
    return Batch(tuple(Component(count, 8) for count in nodes or (1,)), **fields)


def plan(*steps: Step, on: Batch | None = None) -> Plan:
    count = max(node for each in steps for node in each.nodes) + 1
    return Plan(
        name="small",
        cluster="here",
        nodes=count,
        url="http://a:8000",
        served_name="tiny",
        steps=steps,
        files=(),
        endpoints=(),
        targets=(),
        ready=(),
        timeout=60,
        batch=on or batch(count),
    )


def words(found: tuple[str, ...]) -> list[str]:
    return [shown(word) for word in found]
