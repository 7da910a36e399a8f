"""A router that is not of this package: announced in the entry-point group, it is checked, planned and run."""

from pathlib import Path

from tests.end.deployment import Deployment
from tests.sim.processes import ask

TOY = Path(__file__).with_name("toy")
RECIPE = """
schema = 1
name = "toy"
model.served_name = "tiny"
roles.worker = { manifest = "sim", replicas = 2 }
router = { kind = "toy", flags = { mark = "mine" } }
ready.timeout = "30s"
"""


def installed(user: Deployment) -> dict[str, str | None]:
    """The package as pip would leave it, and the environment that has it."""
    site = user.home / "site"
    meta = site / "toy_router-1.dist-info"
    meta.mkdir(parents=True)
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-router\nVersion: 1\n", encoding="utf-8")
    (meta / "entry_points.txt").write_text("[launcher.roles]\ntoy = toy_adapter\n", encoding="utf-8")
    (site / "toy_adapter.py").write_text((TOY / "toy_adapter.py").read_text(encoding="utf-8"), encoding="utf-8")
    manifests = user.home / "manifests"
    manifests.mkdir()
    text = (TOY / "toy.toml").read_text(encoding="utf-8").replace("PROXY", str(TOY / "toy_proxy.py"))
    (manifests / "toy.toml").write_text(text, encoding="utf-8")
    return {"PYTHONPATH": str(site)}


def test_a_router_of_another_package_runs(deployment: Deployment) -> None:
    env = installed(deployment)
    recipe = deployment.recipe(RECIPE)
    assert deployment("check", recipe, env=env).returncode == 0
    assert "toy_proxy.py" in deployment("plan", recipe, env=env).stdout
    up = deployment.up(recipe, "--wait", env=env)
    assert up.returncode == 0, up.stderr
    served = set()
    for _ in range(2):
        answer = ask(8000 + deployment.shift, "/v1/completions", {"model": "tiny", "prompt": "a"})
        assert answer.headers["x-router"] == "mine"
        served.add(answer.data["sim"]["worker"])
    assert served == {"worker-0", "worker-1"}
    assert deployment("down", "last").returncode == 0
    assert deployment.left() == []


def test_without_the_package_its_name_means_nothing(deployment: Deployment) -> None:
    installed(deployment)
    found = deployment("check", deployment.recipe(RECIPE))
    assert found.returncode == 3
    assert "unknown-adapter" in found.stdout
