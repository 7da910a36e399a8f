"""A rig for every test that starts real runs."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.run.rig import Rig, Web


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path.resolve() / "state")
    yield made
    made.close()


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()
