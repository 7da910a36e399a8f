"""A rig for every test that starts real runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.run.rig import Rig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path.resolve() / "state")
    yield made
    made.close()
