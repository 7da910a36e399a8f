"""A store of several users, and of clusters whose nodes read other files."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.execute.images import inspect
from launcher.execute.images.make import BLOBS
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
    child = os.fork()
    if child == 0:  # nobody, who could not start this Python anew
        os.setgid(65534)
        os.setuid(65534)
        with contextlib.suppress(BaseException):
            stored(shared).ensure(image, "x86_64")
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (inspect.file(path).header.compressor, path.stat().st_uid) == ("zstd", 65534)
    (left,) = ours.left()
    assert (left.stat().st_uid, ours.clear(left)) == (0, True)
