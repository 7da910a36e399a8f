import pytest

from launcher.model.job import Mode
from launcher.roles import MODULES
from launcher.roles.base import Endpoint, Net, nominal
from launcher.run.script import ref
from tests.jobs import adapters, job, role, router


def endpoint(mode: Mode, ranks: int = 1) -> Endpoint:
    return Endpoint("w", "w", "http://x", mode, "vllm", ranks=ranks)


@pytest.mark.parametrize(
    ("what", "expected"), [("workers", 1), ("prefill", 2), ("decode", 0), ("endpoints", 3), ("ranks", 7)]
)
def test_symbolic_counts(what, expected):
    net = Net((endpoint("aggregate", 4), endpoint("prefill", 2), endpoint("prefill")), (), 8000, "router", "m", None)
    assert net.count(what) == expected


def test_nominal_endpoints_stand_before_placement():
    made = job(role("prefill", replicas=2, flags={"personality": "sglang"}), role("decode"), router())
    found = nominal(made, adapters())
    assert [(each.name, each.mode, each.wire, each.bootstrap) for each in found] == [
        ("prefill-0", "prefill", "sglang", 7200),
        ("prefill-1", "prefill", "sglang", 7200),
        ("decode-0", "decode", "vllm", None),
    ]
    assert {each.url for each in found} == {f"http://{ref('ip', 0)}:6100"}


def test_nominal_endpoints_of_an_unknown_adapter_are_none():
    assert nominal(job(role("worker")), {}) == ()


@pytest.mark.parametrize("name", sorted(MODULES))
def test_every_page_of_an_adapter_has_a_summary(name):
    for code, page in adapters()[name].codes.items():
        summary, _, text = page.partition("\n\n")
        assert code == code.lower()
        assert summary
        assert "\n" not in summary
        assert text
