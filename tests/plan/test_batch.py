from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.model.catalogue import Catalogue, Flag
from launcher.model.job import Job
from launcher.plan.batch import inside
from launcher.plan.outline import outline
from launcher.plan.plan import plan
from launcher.plan.step import Batch, Component
from tests.jobs import adapters, cluster, job, manifest, role, router

NODE = {"gpus": 8, "cpus": 64, "memory": "800G"}
BOX = manifest(ports={"http": {"base": 7000}})


def on(slurm: Any = None, node: Any = None, **data: Any):
    return cluster(scheduler="slurm", slurm=slurm or {}, node={**NODE, **(node or {})}, **data)


def batch(made: Job) -> Batch:
    found = plan(made, adapters()).batch
    assert found is not None
    return found


def pd(prefill: int, decode: int, **recipe: Any) -> Job:
    """Prefill and decode on so many whole nodes each."""
    roles = (role("prefill", BOX, gpus=8, replicas=prefill), role("decode", BOX, gpus=8, replicas=decode))
    return job(*roles, router(), on=on(topology={"segment": True}), slurm=recipe)


def test_this_machine_is_asked_for_nothing():
    assert plan(job(role("worker")), adapters()).batch is None


@pytest.mark.parametrize(
    ("gpus", "replicas", "slurm", "node", "expected"),
    [
        (8, 2, {}, {}, Component(2, 8)),
        # Whole nodes: all their GPUs are there, used or not.
        (2, 1, {}, {}, Component(1, 8)),
        (0, 1, {}, {}, Component(1)),
        (2, 1, {}, {"gpu_request": "none"}, Component(1)),
        (2, 1, {}, {"gpu_request": "gres"}, Component(1, 8)),
        (2, 1, {"exclusive": False}, {}, Component(1, 2, 16, 204800)),
        (2, 3, {"exclusive": False}, {}, Component(1, 6, 48, 614400)),
        # Nodes of one component are asked for alike.
        (4, 3, {"exclusive": False}, {}, Component(2, 8, 64, 819200)),
        (2, 1, {"exclusive": False}, {"cpus": None, "memory": None}, Component(1, 2)),
        (0, 1, {"exclusive": False}, {}, Component(1, 0, 64, 819200)),
    ],
)
def test_resources(gpus, replicas, slurm, node, expected):
    made = job(role("worker", gpus=gpus, replicas=replicas), router(), on=on(slurm, node))
    assert batch(made).components == (expected,)
    assert batch(made).exclusive is slurm.get("exclusive", True)


@pytest.mark.parametrize(
    ("site", "recipe", "expected"),
    [
        ({}, {}, (None, None, None, None)),
        ({"partition": "p", "account": "a", "qos": "q", "time": "1h"}, {}, ("p", "a", "q", 3600)),
        ({"partition": "p", "time": "1h"}, {"partition": "x", "time": "2-00:00:00"}, ("x", None, None, 172800)),
        ({}, {"account": "b", "qos": "low"}, (None, "b", "low", None)),
    ],
)
def test_the_recipe_s_wishes_lie_over_the_cluster_s(site, recipe, expected):
    found = batch(job(role("worker"), on=on(site), slurm=recipe))
    assert (found.partition, found.account, found.qos, found.time) == expected


def test_further_options_are_merged_and_spelt_as_slurm_reads_them():
    flags = [Flag("--exclude", ("--exclude",), joined=","), Flag("--contiguous", ("--contiguous",), kind="bool")]
    catalogue = Catalogue("sbatch", "24.11.5", {flag.name: flag for flag in flags})
    made = job(
        role("worker"),
        on=on({"sbatch": {"exclude": "a", "nice": 5}, "srun": {"network": "x"}}),
        slurm={"sbatch": {"exclude": ["b", "c"], "contiguous": True}},
    )
    found = batch(Job(**{**vars(made), "options": {"sbatch": (catalogue,)}}))
    assert found.sbatch == ("--exclude=b,c", "--nice=5", "--contiguous")
    assert found.srun == ("--network=x",)


@pytest.mark.parametrize(
    ("prefill", "decode", "segment", "expected"),
    [
        (2, 2, None, [(4, None)]),
        (2, 2, "role", [(4, 2)]),
        (1, 1, "role", [(2, None)]),
        (1, 3, "role", [(1, None), (3, 3)]),
        (2, 4, "role", [(2, 2), (4, 4)]),
        (2, 4, "job", [(6, 6)]),
        (2, 4, 3, [(6, 3)]),
        (2, 4, 16, [(6, 6)]),
        (2, 4, 1, [(6, None)]),
    ],
)
def test_segments(prefill, decode, segment, expected):
    found = batch(pd(prefill, decode, **({} if segment is None else {"segment": segment})))
    assert [(each.nodes, each.segment) for each in found.components] == expected


def test_roles_on_one_node_are_in_one_component():
    roles = (role("prefill", BOX, gpus=2, replicas=5), role("decode", BOX, gpus=2, replicas=8))
    made = job(*roles, router(), on=on(), slurm={"segment": "role"})
    assert [(each.nodes, each.segment) for each in batch(made).components] == [(4, 4)]


def test_nodes_of_no_worker_are_a_component_of_their_own():
    roles = (role("worker", BOX, gpus=8, replicas=2), role("store", BOX, on="dedicated"))
    made = job(*roles, router(), on=on(), slurm={"segment": "role"})
    assert [(each.nodes, each.segment, each.gpus) for each in batch(made).components] == [(2, 2, 8), (1, None, 0)]


def test_component_of_a_node():
    found = Batch((Component(2), Component(3)))
    assert [found.component(node) for node in range(5)] == [0, 0, 1, 1, 1]
    with pytest.raises(IndexError):
        found.component(5)


SIZES = st.integers(1, 20)


@given(st.lists(st.tuples(SIZES, st.integers(1, 4)), min_size=1, max_size=3), st.booleans())
def test_no_replica_and_no_worker_role_is_in_two_components(sizes, worker):
    names = ["prefill", "decode", "box"] if not worker else ["worker", "cache", "box"]
    whole = [(gpus if gpus <= 8 else gpus // 8 * 8, count) for gpus, count in sizes]
    roles = [role(name, BOX, gpus=gpus, replicas=count) for name, (gpus, count) in zip(names, whole, strict=False)]
    made = job(*roles, router(), on=on(), slurm={"segment": "role"})
    found, base = batch(made), outline(made, adapters())
    assert sum(each.nodes for each in found.components) == base.layout.nodes
    parts: dict[str, set[int]] = {}
    for replica in base.replicas:
        name = replica.role.name if replica.role.mode else replica.name
        parts.setdefault(name, set()).update(found.component(node) for node in replica.nodes)
    assert all(len(each) == 1 for each in parts.values())


@pytest.mark.parametrize(
    ("components", "sizes", "nodes"),
    [
        # Asked for in parts, and held in one; the other way round; cut where the allocation has more.
        (((1, 4), (2, 8)), (3,), [(3, 8)]),
        (((3, 8),), (1, 2), [(1, 8), (2, 8)]),
        (((1, 4), (2, 8)), (2, 1), [(2, 8), (1, 8)]),
        (((1, 4), (2, 8)), (1, 5, 4), [(1, 4), (2, 8)]),
        (((2, 8),), (9,), [(2, 8)]),
    ],
)
def test_a_plan_inside_an_allocation_has_its_components(components, sizes, nodes):
    asked = Batch(tuple(Component(count, gpus, cpus=9, segment=count) for count, gpus in components), time=60)
    found = inside(asked, sum(count for count, _ in components), sizes)
    assert [(each.nodes, each.gpus) for each in found.components] == nodes
    assert {each.segment for each in found.components} == {None}
    assert found.time == 60
