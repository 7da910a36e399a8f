"""Registries, daemons and projects for the tests of `launch images`."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.images.project import CONTAINERFILE, TOOL, Place, Unprivileged
from tests.cli.program import Program
from tests.testbed import bases, daemon, image, registry
from tests.testbed.registry import Served


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An open registry."""
    with registry.registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A registry behind a password."""
    with registry.registry(tmp_path_factory.mktemp("closed"), password=True) as running:
        yield running


@pytest.fixture(scope="module")
def based(served: Served) -> Served:
    """The open one, with bases."""
    bases.pushed(served, image.TINY)
    return served


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
