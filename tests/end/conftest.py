"""Deployments with ports and a home of their own; whatever a test leaves running is ended after it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.end.faults")

from tests.end.block import block  # noqa: E402
from tests.end.deployment import Deployment  # noqa: E402


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    """The real program, with a free block of ports."""
    with block() as shift:
        made = Deployment(tmp_path.resolve(), shift)
        try:
            yield made
        finally:
            made.close()
