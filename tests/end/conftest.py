"""Deployments with ports and a home of their own; whatever a test leaves running is ended after it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end.block import block
from tests.end.deployment import Deployment


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    """The real program, with a free block of ports."""
    with block() as shift:
        made = Deployment(tmp_path.resolve(), shift)
        try:
            yield made
        finally:
            made.close()
