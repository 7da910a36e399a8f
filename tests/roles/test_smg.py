from typing import Any

import pytest

from launcher.model.catalogue import load
from launcher.model.job import Mode, Role
from launcher.plan.plan import plan
from launcher.roles.base import Endpoint, Scheme, Wire
from launcher.run.script import ref
from tests.jobs import ROOT, adapters, job, role, router

IP = ref("ip", 0)
SMG = load((ROOT / "manifests/flags/smg/1.13.0.json").read_text(encoding="utf-8"))
SGLANG = {"personality": "sglang"}
ADAPTER = adapters()["smg"]


def words(*roles: Role, **fields: Any) -> tuple[str, ...]:
    return plan(job(*roles, **fields), adapters()).steps[-1].words


def test_aggregate():
    found = words(role("worker", replicas=2), router(flags={"policy": "round_robin"}), ready={"timeout": "90s"})
    assert found == (
        ref("python"),
        "-m",
        "smg",
        "launch",
        "--host=0.0.0.0",
        "--port=8000",
        "--prometheus-host=0.0.0.0",
        "--prometheus-port=29000",
        "--worker-urls",
        f"http://{IP}:6100",
        f"http://{IP}:6132",
        "--worker-startup-timeout-secs=90",
        "--policy=round_robin",
    )


def test_prefill_and_decode_by_bootstrap():
    found = words(role("prefill", replicas=2, flags=SGLANG), role("decode", flags=SGLANG), router(flags={}))
    start = found.index("--pd-disaggregation")
    assert found[start:-1] == (
        "--pd-disaggregation",
        *("--prefill", f"http://{IP}:6100", "7200"),
        *("--prefill", f"http://{IP}:6132", "7201"),
        *("--decode", f"http://{IP}:6164"),
    )
    assert "--worker-urls" not in found


OLD = load((ROOT / "manifests/flags/smg/1.11.0.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("catalogue", "over", "given", "said"),
    [
        (SMG, {"grpc": True}, {}, ["--worker-wedge-secs=0"]),
        (SMG, {"grpc": True}, {"worker-wedge-secs": 60}, ["--worker-wedge-secs=60"]),
        (SMG, {}, {}, []),
        (OLD, {"grpc": True}, {}, []),
    ],
)
def test_it_waits_for_prefill_over_grpc(catalogue, over, given, said):
    """Version 1.13 gives up after 3 s, which 1.11 cannot be told of."""
    halves = [role(name, flags={**over, **SGLANG}) for name in ("prefill", "decode")]
    found = words(*halves, router(flags=given, catalogue=catalogue))
    assert [word for word in found if "wedge" in word] == said


@pytest.mark.parametrize(("wire", "count"), [("sglang", 2), ("vllm", 1)])
def test_with_dp_aware_it_lists_the_ranks_of_sglang_workers(wire, count):
    worker = role("worker", flags={"personality": wire, "dp-size": 2})
    made = job(worker, router(flags={"dp-aware": True}, catalogue=SMG))
    (gate,) = plan(made, adapters()).steps[-1].gates
    assert gate.expect[0].equals == count


def endpoint(mode: Mode, wire: Wire = "vllm", scheme: Scheme = "http", **fields: Any) -> Endpoint:
    return Endpoint(f"{mode}-0", mode, "http://x", mode, wire, scheme, **fields)


def pair(**fields: Any) -> tuple[Endpoint, ...]:
    return endpoint("prefill", **fields), endpoint("decode", **fields)


@pytest.mark.parametrize(
    ("endpoints", "codes"),
    [
        ((endpoint("aggregate"),), []),
        (pair(wire="sglang", handoff="bootstrap", bootstrap=7200), []),
        (pair(scheme="grpc", handoff="kv_transfer_params"), []),
        # Everything would say ready, and decode would recompute every prompt.
        (pair(handoff="kv_transfer_params"), ["handoff-lost"]),
        (pair(wire="sglang", handoff="bootstrap"), ["handoff-lost"]),
        (pair(wire="trtllm"), ["handoff-lost"]),
        (
            (
                endpoint("prefill", "sglang", handoff="bootstrap", bootstrap=1),
                endpoint("decode", "vllm", "grpc", handoff="kv_transfer_params"),
            ),
            ["engines-mixed"],
        ),
    ],
)
def test_pairing_is_judged_by_endpoints_alone(endpoints, codes):
    made = job(role("worker"), role("prefill"), role("decode"), router())
    found = list(ADAPTER.check(made, made.router, endpoints))
    assert [each.code for each in found] == codes
    assert set(codes) <= set(ADAPTER.codes)
