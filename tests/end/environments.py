"""Where the programs of the tests are: this interpreter's environment, and those that `make setup` makes beside it."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = sys.executable


def environment(name: str) -> Path:
    """The environment made of `tests/environments/NAME.txt`."""
    found = ROOT / f".venv-{name}"
    if not (found / "made").exists():
        pytest.fail(f"{found} is not there: `make setup` makes it")
    return found
