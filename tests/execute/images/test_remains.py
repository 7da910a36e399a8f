"""What killed makers of image files leave: what goes by itself, and what waits for whoever wants the image."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.execute.held import held
from launcher.execute.images import remains
from launcher.execute.images.make import BLOBS
from launcher.execute.world import Real
from launcher.images.reference import Reference
from tests.execute.images.clients import named, stored
from tests.testbed import oci
from tests.testbed.registry import Served

LEAVINGS = {
    ".a.layers": False,
    ".a.part": False,
    ".a.json.part": False,
    ".a-baked.bake": True,
    ".there.layers": True,
    ".there.part": True,
    ".there.json.part": True,
    ".a-0123.left": True,
    ".build-0123.layers": True,
}
"""What lies in a store that has the file `there.sqsh` → whether it goes by itself."""


@pytest.fixture(scope="module")
def image(served: Served) -> Reference:
    served.pusher.push("remains/image", "1", oci.image([[oci.Entry("bin/sh", b"#", mode=0o755)]]))
    return named(served.host, "remains/image:1")


def leave(folder: Path, name: str) -> Path:
    path = folder / name
    if path.suffix == ".part":
        path.write_bytes(b"half")
    else:
        (path / BLOBS).mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize("name", LEAVINGS)
def test_the_next_who_writes_there_clears(image: Reference, tmp_path: Path, name: str) -> None:
    """Whether its own image is there or not."""
    (tmp_path / "there.sqsh").write_bytes(b"")
    for _ in range(2):
        path = leave(tmp_path, name)
        stored(tmp_path).ensure(image, "x86_64")
        assert path.exists() is not LEAVINGS[name]


@pytest.mark.parametrize("name", [name for name, goes in LEAVINGS.items() if goes])
def test_nothing_that_somebody_has(tmp_path: Path, name: str) -> None:
    (tmp_path / "there.sqsh").write_bytes(b"")
    path = leave(tmp_path, name)
    lock = path.with_name(f"{path.stem.removesuffix('.json')}.lock")
    with held(Real(), lock, "making it", 1.0):
        remains.tidy(Real(), tmp_path)
        assert path.exists()
        assert not remains.clear(Real(), path)


WORK = """\
import sys
from pathlib import Path
from launcher.execute.images import remains
from launcher.execute.world import Real
with remains.work(Real(), Path(sys.argv[1])) as place:
    (place / "in").mkdir(mode=0o500)
    print(place.name, flush=True)
    sys.stdin.read()
"""


def test_the_folder_of_a_killed_build_goes_with_the_next(tmp_path: Path) -> None:
    """The locks of both too; that of one that lives stays."""
    words = [sys.executable, "-c", WORK, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        (tmp_path / running.stdout.readline().strip()).stat()
        with remains.work(Real(), tmp_path):
            assert len(list(tmp_path.glob("*.layers"))) == 2
        running.send_signal(signal.SIGKILL)
    assert len(list(tmp_path.iterdir())) == 2
    with remains.work(Real(), tmp_path) as place:
        assert {each.stem for each in tmp_path.iterdir()} == {place.stem}
    assert list(tmp_path.iterdir()) == []
