"""A role started from an image that `launch images build` made of a shipped definition, by Docker and by podman."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.slurm import containers
from tests.slurm.containers import over
from tests.slurm.deployment import RECIPE, Site
from tests.testbed import bases, daemon, registry
from tests.testbed.bases import PYTHON
from tests.testbed.bed import Bed


def defined(site: Site, base: str) -> None:
    """The cluster's alias `smg` is the definition now, upon `base`, and there is a store."""
    lines = site.file.read_text().splitlines()
    lines = [
        f'smg = {{ build = "smg", args = {{ BASE = "{base}" }} }}' if line.startswith("smg = ") else line
        for line in lines
    ]
    site.file.write_text("\n".join([*lines, "[store]", f'path = "{site.folder}/store"', ""]))


def build(site: Site, host: str) -> None:
    """Where Docker is, which no node of the testbed is."""
    words = [sys.executable, "-m", "launcher", "images", "build", "smg", "--cluster", str(site.file)]
    words += ["--wheels", str(bases.wheels("smg==1.13.0")), "--network", "none"]
    env = {"PATH": os.environ["PATH"], "HOME": str(site.folder), "DOCKER_HOST": host}
    done = subprocess.run(words, cwd=site.folder, env=env, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("builder", [daemon.docker, pytest.param(daemon.podman, marks=pytest.mark.heavy)])
def test_the_router_of_a_run_is_one_that_was_built(
    contained: Bed, tmp_path_factory: pytest.TempPathFactory, builder: Callable[[Path], AbstractContextManager[str]]
) -> None:
    site = containers.site(contained, "pyxis")
    with (
        registry.registry(tmp_path_factory.mktemp("registry")) as served,
        builder(tmp_path_factory.mktemp("daemon")) as host,
    ):
        defined(site, bases.pushed(served, PYTHON))
        told = site.launch("check", site.recipe(RECIPE), status=4).stdout
        assert "error[image-not-built]: image alias `smg` is the definition `smg`" in told
        build(site, host)
    (made,) = (site.folder / "store").glob("smg-*.sqsh")
    assert f"--container-image={made}" in site.launch("render", site.recipe(RECIPE)).stdout
    run = site.up(text=RECIPE)
    assert run.ask()
    over(run)
