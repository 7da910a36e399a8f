"""What goes wrong while an image file is made: the message, the exit code, and that the next try finishes."""

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from launcher.execute.images import inspect
from tests.cli.images.project import Place
from tests.cli.program import Program
from tests.testbed import oci, registry
from tests.testbed.disk import disk
from tests.testbed.registry import Fault, Proxy, Served

IMAGE = oci.image([[oci.Entry("bin/sh", b"#", mode=0o755), oci.Entry("big", os.urandom(700_000))]])


@pytest.fixture(scope="module")
def served(served: Served) -> Served:
    served.pusher.push("f/image", "1", IMAGE)
    return served


@pytest.fixture
def front(served: Served) -> Iterator[Proxy]:
    with registry.proxy(served.host) as running:
        yield running


@pytest.fixture
def launch(tmp_path: Path) -> Program:
    return Program(tmp_path)


def ensure(launch: Program, host: str, store: Path, tag: str = "1") -> tuple[int, str, str]:
    words = ("--arch", "x86_64", "--store", str(store), "--cluster", "gb300", "--print-path")
    done = launch("images", "ensure", f"{host}/f/image:{tag}", *words, timeout=120)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout.strip(), done.stderr


FAULTS = [
    ([Fault("HEAD", times=1, status=429)], 0, ""),
    ([Fault("GET .*/blobs/", times=1, cut=300_000), Fault("GET .*/blobs/", times=1, status=503)], 0, ""),
    ([Fault("GET .*/blobs/", spoil=True)], 4, "error[image-absent]: `{host}` sends something else than "),
    ([Fault("HEAD", status=404)], 4, "error[image-absent]: `{host}` has no `f/image:1`"),
    (
        [Fault("HEAD", status=429, headers={"Retry-After": "600"})],
        4,
        "error[image-unseen]: `{host}` has been asked too",
    ),
    ([Fault("HEAD", status=403)], 4, "error[image-absent]: `{host}` shows `{host}/f/image` to nobody without a login"),
]


@pytest.mark.parametrize(("faults", "status", "said"), FAULTS)
def test_a_registry(front: Proxy, launch: Program, faults: list[Fault], status: int, said: str, tmp_path: Path) -> None:
    front.faults[:] = [replace(fault) for fault in faults]
    code, _, err = ensure(launch, front.host, tmp_path / "s")
    assert (code, said.format(host=front.host) in err) == (status, True), err
    front.faults.clear()
    code, path, _ = ensure(launch, front.host, tmp_path / "s")
    assert (code, inspect.file(Path(path)).header.compressor) == (0, "zstd")
    assert sorted(each.suffix for each in (tmp_path / "s").iterdir()) == [".json", ".lock", ".sqsh"]


def test_a_store_without_room_or_that_is_read_only(served: Served, launch: Program, tmp_path: Path) -> None:
    with disk(tmp_path / "small", "size=1m") as store:
        code, out, err = ensure(launch, served.host, store)
        assert (code, out, "error[store-full]: `" in err) == (1, "", True)
        assert f"`launch images prune --max-size SIZE --cluster gb300 --store {store}` makes room" in err
        assert not list(store.glob("*.sqsh"))
    with disk(tmp_path / "closed", "ro") as store:
        code, out, err = ensure(launch, served.host, store)
        assert (code, out) == (1, "")
        assert f"error[store-closed]: `{store}` cannot be written to: its file system is read-only" in err


@pytest.fixture
def shut() -> Iterator[Path]:
    """A folder that root alone may write to, and all may enter."""
    with tempfile.TemporaryDirectory(prefix="launch-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize(
    "words", ["ensure tiny", "pull", "prune --max-size 1M", "build tool --with layers", "bake r.toml --with apptainer"]
)
def test_a_store_that_others_have(unprivileged: Place, shut: Path, words: str) -> None:
    """Which folder, who may, and what names another."""
    place = unprivileged
    place.only_copy()
    place.write("r.toml", 'schema = 1\nname = "r"\n[roles.worker]\nmanifest = "sim"\nimage = "tiny"\nsetup = "true"\n')
    place.site(f'tiny = "{place.base}"\ntool = {{ build = "tool" }}', runtime="apptainer", store=False)
    site = place.launch.home / "site.toml"
    site.write_text(site.read_text().replace("[images]", f'[store]\npath = "{shut}"\n[images]'))
    (shut / "old-0.sif").write_bytes(bytes(2 << 20))
    status, out, err = place.images(words)
    assert (status, out) == (1, ""), err
    assert f"error[store-closed]: `{shut}` cannot be written to: only `root` may write\n" in err
    assert "help: `[store] path` of the cluster file, or `--store FOLDER`, names another\n" in err
    shut.chmod(0o2775)
    status, out, err = place.images(f"{words} --store {shut}/of/mine")
    if not words.startswith("prune"):
        only = f"cannot be made: only `root` and the group `root` may write in `{shut}`\n"
        assert (status, out, f"error[store-closed]: `{shut}/of/mine` {only}" in err) == (1, "", True), err


def test_a_lock_whose_holder_is_dead_is_nobody_s(served: Served, launch: Program, tmp_path: Path) -> None:
    _, path, _ = ensure(launch, served.host, tmp_path)
    (lock,) = tmp_path.glob(".*.lock")
    Path(path).unlink()
    dead = {"pid": 1, "host": os.uname().nodename, "user": "root", "what": "importing it", "since": 0}
    lock.write_text(json.dumps(dead))
    assert ensure(launch, served.host, tmp_path) == (0, path, "")


def test_twenty_at_once_make_one(front: Proxy, launch: Program, tmp_path: Path) -> None:
    words = ("--arch", "x86_64", "--store", str(tmp_path / "s"), "--cluster", "gb300", "--print-path")
    front.delay = 0.02
    running = [launch.start("images", "ensure", f"{front.host}/f/image:1", *words) for _ in range(20)]
    paths = {each.communicate(timeout=300)[0] for each in running}
    assert [each.returncode for each in running] == [0] * 20
    assert len(paths) == 1
    (layer,) = IMAGE.blobs.keys() - {IMAGE.config}
    assert len([path for path in front.paths("GET") if path.endswith(layer)]) == 1
