import pytest

from launcher.plan.fault import KINDS, diagnostic
from launcher.plan.outline import name, names, outline
from tests.jobs import adapters, cluster, job, manifest, role, router, site

BOX = manifest()


@pytest.mark.parametrize(
    ("which", "index", "expected"),
    [
        (role("worker"), 0, "worker-0"),
        (role("prefill", replicas=3), 2, "prefill-2"),
        (router(), 0, "router"),
        (role("etcd", BOX), 0, "etcd"),
        (role("etcd", BOX, replicas=2), 1, "etcd-1"),
    ],
)
def test_name(which, index, expected):
    assert name(which, index) == expected


def test_a_replica_has_a_name_for_each_of_its_nodes():
    found = outline(job(role("worker", gpus=8), on=site("gb300")), adapters())
    assert list(names(found.replicas[0], 2)) == ["worker-0", "worker-0-rank1"]


def test_front_is_the_router_or_the_only_worker():
    assert outline(job(role("worker"), router()), adapters()).front == "router"
    assert outline(job(role("worker")), adapters()).front == "worker"


@pytest.mark.parametrize(
    ("made", "kinds"),
    [
        (job(role("worker"), role("worker-0", BOX)), ["step-names-clash"]),
        (job(role("worker", gpus=8), role("worker-0-rank1", BOX), on=site("gb300")), ["step-names-clash"]),
        (job(role("a", BOX, replicas=2), role("a-1", BOX), role("worker")), ["step-names-clash"] * 2),
        (
            job(
                role("worker", manifest("w", after=["nosuch"]), gpus=1),
                role("x", BOX, on="y"),
                on=cluster(),
                ports={"shift": 50000},
            ),
            ["node-has-no-gpus", "unknown-placement", "unknown-after"],
        ),
        (job(role("worker", replicas=400), router(), ports={"shift": 50000}), ["ports-exhausted"] * 2),
        (job(role("worker", BOX)), ["front-without-port"]),
        (job(), ["front-without-port"]),
    ],
)
def test_all_faults_at_once_each_with_a_page(made, kinds):
    found = outline(made, adapters()).faults
    assert [fault.kind for fault in found] == kinds
    assert set(kinds) <= set(KINDS)
    assert [diagnostic(fault, made).code for fault in found] == kinds


def test_every_page_has_a_summary():
    assert all(page.partition("\n\n")[0] and page.partition("\n\n")[2] for page in KINDS.values())
