"""The bootstraps of all recipes that have an Envoy, on every cluster: the real one takes them, and so do our rules."""

import json
import subprocess
from pathlib import Path

import pytest

from launcher.checks.bootstrap import envoy_lacks_cluster
from launcher.execute.adapters import load
from launcher.execute.library import Files
from launcher.model.link import link
from launcher.plan.plan import plan
from launcher.run.script import bind
from tests.end.environments import environment
from tests.golden.test_golden import CASES, RECIPES

ENVOYS = sorted(name for name in CASES if "llm-d" in name)
SLOTS = {f"ip{node}": f"10.0.0.{node + 1}" for node in range(16)}


def test_every_recipe_whose_router_brings_an_envoy_is_here() -> None:
    """By what their role manifests say, so that a later one is not forgotten."""
    library = Files({}, site=RECIPES / "nosuch", directory=RECIPES)
    found = {name for name in CASES if any(role.manifest.name == "envoy" for role in link(library, CASES[name]).roles)}
    assert found == {*ENVOYS}


@pytest.mark.parametrize("name", ENVOYS)
def test_envoy_takes_it(name: str, tmp_path: Path) -> None:
    job = link(Files({}, site=RECIPES / "nosuch", directory=RECIPES), CASES[name])
    found = plan(job, load({role.manifest.adapter for role in job.roles}))
    (file,) = [file for file in found.files if file.path == "llm-d/envoy.json"]
    path = tmp_path / "envoy.json"
    path.write_text(json.dumps(bind(file.data, SLOTS)), encoding="utf-8")
    envoy = environment("llm-d") / "bin" / "envoy"
    asked = subprocess.run([envoy, "--mode", "validate", "-c", path], capture_output=True, text=True, timeout=60)
    assert asked.returncode == 0, asked.stderr
    assert list(envoy_lacks_cluster(job, found, {})) == []
