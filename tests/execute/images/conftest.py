"""Registries for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.execute.images.clients import OPEN
from tests.testbed import registry
from tests.testbed.registry import Served


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An open registry."""
    with registry.registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture(scope="session")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A registry behind a password."""
    with registry.registry(tmp_path_factory.mktemp("closed"), password=True) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder without anybody's logins."""
    return tmp_path


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().transport.close()
