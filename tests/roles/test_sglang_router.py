from typing import Any

import pytest

from launcher.model.catalogue import load
from launcher.model.job import Job
from launcher.plan.plan import plan
from launcher.roles.base import nominal
from launcher.run.script import ref
from tests.jobs import ROOT, adapters, job, role, router

IP = ref("ip", 0)
CATALOGUE = load((ROOT / "manifests/flags/sglang-router/0.3.2.json").read_text(encoding="utf-8"))
SGLANG = {"personality": "sglang", "dp-size": 2}
ADAPTER = adapters()["sglang-router"]


def routed(*names: str, **flags: Any) -> Job:
    workers = [role(name, flags=SGLANG) for name in names]
    return job(*workers, router("sglang-router", flags=flags, catalogue=CATALOGUE))


def test_prefill_and_decode():
    found = plan(routed("prefill", "decode"), adapters()).steps[-1].words
    assert found == (
        ref("python"),
        "-m",
        "sglang_router.launch_router",
        "--host=0.0.0.0",
        "--port=8000",
        "--prometheus-host=0.0.0.0",
        "--prometheus-port=29000",
        "--pd-disaggregation",
        *("--prefill", f"http://{IP}:6100", "7200"),
        *("--decode", f"http://{IP}:6132"),
        "--worker-startup-timeout-secs=600",
    )


@pytest.mark.parametrize(("flags", "count"), [({}, 1), ({"dp-aware": True}, 2), ({"dp-awa": True}, 2)])
def test_it_lists_ranks_when_asked_to_route_by_them(flags, count):
    (gate,) = plan(routed("worker", **flags), adapters()).steps[-1].gates
    assert gate.expect[0].equals == count


@pytest.mark.parametrize(
    ("names", "flags", "codes"),
    [
        (["worker"], {"dp-aware": True}, []),
        (["prefill", "decode"], {}, []),
        # All is ready then, and requests go to the host `1`.
        (["prefill", "decode"], {"dp-aware": True}, ["ranks-not-routed"]),
        (["prefill", "decode"], {"dp-awa": True}, ["ranks-not-routed"]),
    ],
)
def test_ranks_of_halves_cannot_be_addressed(names, flags, codes):
    made = routed(*names, **flags)
    assert [each.code for each in ADAPTER.check(made, made.router, nominal(made, adapters()))] == codes
