import pytest

from launcher.model.manifest import Manifest
from launcher.plan.plan import plan
from launcher.run.script import ref
from tests.jobs import adapters, job, manifest, role, router

ENGINE = manifest("mine", kind="engine", program={"command": ["serve", "{port.http}"]}, ports={"http": {"base": 7000}})


def findings(uses: Manifest, name: str) -> list[str]:
    made = role(name, uses)
    return [each.code for each in adapters()["plain"].check(job(made), made)]


def test_a_manifest_alone_is_a_worker_behind_a_router():
    found = plan(job(role("worker", ENGINE, replicas=2, flags={"size": 3}), router()), adapters())
    assert found.steps[1].words == ("serve", "7001", "--size=3")
    assert [each.url for each in found.endpoints] == [f"http://{ref('ip', 0)}:{port}" for port in (7000, 7001)]


def test_a_service_is_no_endpoint():
    found = plan(job(role("box", ENGINE), role("worker"), router()), adapters())
    assert [each.name for each in found.endpoints] == ["worker-0"]


@pytest.mark.parametrize(
    ("uses", "name", "codes"),
    [
        (ENGINE, "worker", []),
        (manifest(), "box", []),
        (manifest(program={}), "box", ["command-missing"]),
        (manifest(), "worker", ["worker-without-port"]),
        (manifest(program={}), "worker", ["command-missing", "worker-without-port"]),
    ],
)
def test_check(uses, name, codes):
    assert findings(uses, name) == codes
    assert set(codes) <= set(adapters()["plain"].codes)
