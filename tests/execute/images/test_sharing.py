"""A store of several users, and of clusters whose nodes read other files."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from launcher.execute.held import held
from launcher.execute.images import inspect, remains
from launcher.execute.images.make import BLOBS
from launcher.execute.world import Real
from launcher.images.reference import Reference
from tests.execute.images.clients import named, stored
from tests.testbed import oci
from tests.testbed.registry import Served


@pytest.fixture(scope="module")
def image(served: Served) -> Reference:
    served.pusher.push("shared/image", "1", oci.image([[oci.Entry("bin/sh", b"#", mode=0o755)]]))
    return named(served.host, "shared/image:1")


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder in which every user may write, unlike pytest's."""
    with tempfile.TemporaryDirectory(prefix="launch-") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def as_nobody(do: Callable[[], object]) -> bool:
    """Whether it can be done by another user, who could not start this Python anew."""
    child = os.fork()
    if child == 0:
        os.setgid(65534)
        os.setuid(65534)
        with contextlib.suppress(BaseException):
            do()
            os._exit(0)
        os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_clusters_that_read_other_files(image: Reference, shared: Path) -> None:
    one, other = stored(shared), stored(shared, "lz4")
    files = [each.ensure(image, "x86_64") for each in (one, other, one, other)]
    assert files[:2] == files[2:]
    assert [inspect.file(path).header.compressor for path in files[:2]] == ["zstd", "lz4"]
    assert {each.facts["compressor"] for each in one.all()} == {"lz4", "zstd"}
    assert len({each.facts["manifest"] for each in one.all()}) == 1


def test_what_an_import_of_another_user_left_is_no_hindrance(image: Reference, shared: Path) -> None:
    ours = stored(shared)
    path = ours.found(image, "x86_64")[0]
    (shared / f".{path.stem}.layers" / BLOBS).mkdir(parents=True)
    (shared / f".{path.stem}.part").write_bytes(b"half")
    assert as_nobody(lambda: stored(shared).ensure(image, "x86_64"))
    assert (inspect.file(path).header.compressor, path.stat().st_uid) == ("zstd", 65534)
    (left,) = remains.left(shared)
    assert (left.stat().st_uid, left.suffix) == (0, ".left")
    # Whose it is takes it away without being asked.
    assert ours.ensure(image, "x86_64") == path
    assert {each.suffix for each in shared.iterdir()} == {".json", ".lock", ".sqsh"}


def test_what_cannot_be_entered_goes_too(shared: Path) -> None:
    """A preamble, or a build, may make folders of any mode."""

    def leave() -> None:
        inner = shared / ".a.bake/shut/in"
        inner.mkdir(parents=True)
        inner.parent.chmod(0o500)

    def clear() -> None:
        assert remains.clear(Real(), shared / ".a.bake")

    assert as_nobody(leave)
    assert as_nobody(clear)
    assert [each.name for each in shared.iterdir()] == [".a.lock"]


def test_a_lock_that_is_there_is_not_created(shared: Path) -> None:
    """Linux denies that of another's file in a sticky folder (`fs.protected_regular`)."""
    with held(Real(), shared / ".a.lock", "making it", 1.0):
        pass

    def take() -> None:
        created = []

        def hear(event: str, args: tuple[Any, ...]) -> None:
            if event == "open" and str(args[0]).endswith(".a.lock"):
                created.append(args[2] & os.O_CREAT)

        sys.addaudithook(hear)
        with held(Real(), shared / ".a.lock", "making it", 1.0):
            assert created == [0]

    assert as_nobody(take)
