"""Workers and routers of the tests; whatever a test started is gone when it ends."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sim.processes import Start


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts workers, and routers in front of them, for one test."""
    with Start(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """The same for all tests of a module, which must not end what they find."""
    with Start(tmp_path_factory.mktemp("shared")) as made:
        yield made
