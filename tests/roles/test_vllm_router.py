from typing import Any

import pytest

from launcher.model.job import Role
from launcher.plan.plan import plan
from launcher.roles.base import Endpoint
from launcher.run.script import ref
from tests.jobs import adapters, job, role, router

IP = ref("ip", 0)
ADAPTER = adapters()["vllm-router"]


def words(*roles: Role, **fields: Any) -> tuple[str, ...]:
    return plan(job(*roles, router("vllm-router"), **fields), adapters()).steps[-1].words


def test_aggregate():
    assert words(role("worker", replicas=2), ready={"timeout": "90s"})[:12] == (
        ref("python"),
        "-m",
        "vllm_router.launch_router",
        "--host=0.0.0.0",
        "--port=8000",
        "--prometheus-host=0.0.0.0",
        "--prometheus-port=29000",
        "--worker-urls",
        f"http://{IP}:6100",
        f"http://{IP}:6132",
        "--worker-startup-timeout-secs=90",
        "--health-check-interval-secs=2",
    )


@pytest.mark.parametrize(
    ("names", "size", "expected"),
    [
        (["worker"], 1, []),
        (["worker"], 2, ["--intra-node-data-parallel-size=2"]),
        # It reads them off each worker's metrics, and ignores the flag.
        (["prefill", "decode"], 2, []),
    ],
)
def test_it_is_told_the_ranks_of_aggregate_workers(names, size, expected):
    found = words(*(role(name, replicas=2, flags={"dp-size": size}) for name in names))
    assert [word for word in found if "data-parallel" in word] == expected


@pytest.mark.parametrize("sizes", [{"prefill": 2}, {"prefill": 2, "decode": 4}])
def test_ranks_count_as_workers(sizes):
    flags = {name: {"dp-size": sizes.get(name, 1)} for name in ("prefill", "decode")}
    made = plan(job(*(role(name, flags=flags[name]) for name in flags), router("vllm-router")), adapters())
    (gate,) = made.steps[-1].gates
    counts = {expect.at: expect.equals for expect in gate.expect if expect.at.startswith("stats")}
    assert counts == {
        "stats.regular_count": 0,
        "stats.prefill_count": sizes["prefill"],
        "stats.decode_count": sizes.get("decode", 1),
    }


@pytest.mark.parametrize(
    ("mode", "ranks", "codes"),
    [
        ("aggregate", (2, 2), []),
        # One number for all: the second would be asked for ranks that it has not.
        ("aggregate", (4, 2), ["ranks-not-routed"]),
        ("prefill", (4, 2), ["ranks-not-routed"]),
        ("prefill", (4, 4), []),
    ],
)
def test_one_number_of_ranks_for_all(mode, ranks, codes):
    made = job(role("worker"), router("vllm-router"))
    endpoints = tuple(
        Endpoint(f"w{n}", "worker", "http://x", mode, "vllm", handoff="kv_transfer_params", ranks=size)
        for n, size in enumerate(ranks)
    )
    assert [each.code for each in ADAPTER.check(made, made.router, endpoints)] == codes


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_it_speaks_http_alone(scheme):
    made = job(role("worker"), router("vllm-router"))
    endpoint = Endpoint("w", "worker", "http://x", "aggregate", "vllm", scheme)
    codes = [each.code for each in ADAPTER.check(made, made.router, (endpoint,))]
    assert codes == ([] if scheme == "http" else ["engine-not-routed"])
