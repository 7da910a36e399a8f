"""Registries, daemons and projects for the tests of `launch images build`."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.images.project import CONTAINERFILE, TOOL, Place, Unprivileged
from tests.cli.program import Program
from tests.testbed import bases, daemon, image, registry
from tests.testbed.registry import Served


@pytest.fixture(scope="module")
def based(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with registry.registry(tmp_path_factory.mktemp("registry")) as running:
        bases.pushed(running, image.TINY)
        yield running


@pytest.fixture(scope="module")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`DOCKER_HOST` of a real dockerd."""
    with daemon.docker(tmp_path_factory.mktemp("docker")) as running:
        yield running


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same of podman's service."""
    with daemon.podman(tmp_path_factory.mktemp("podman")) as running:
        yield running


@pytest.fixture(params=["docker", "podman"])
def host(request: pytest.FixtureRequest) -> str:
    """The one and the other."""
    found: str = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def unprivileged(based: Served) -> Iterator[Place]:
    """A project of a user who is not root, where Apptainer is, in a folder that every user may enter."""
    with tempfile.TemporaryDirectory(prefix="launch-") as folder:
        Path(folder).chmod(0o755)
        yield Place(Unprivileged(Path(folder)), based, f"{based.host}/base:1")


@pytest.fixture
def place(tmp_path: Path, based: Served) -> Place:
    made = Place(Program(tmp_path), based, f"{based.host}/base:1")
    made.write("images/tool/image.toml", TOOL.format(base=made.base))
    made.write("images/tool/Containerfile", CONTAINERFILE)
    made.site('tool = { build = "tool" }')
    return made
