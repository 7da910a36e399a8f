"""Fixtures of the command line's tests."""

from pathlib import Path

import pytest

from tests.cli.program import Program


@pytest.fixture
def launch(tmp_path: Path) -> Program:
    """The real program, in a directory of its own."""
    return Program(tmp_path)
