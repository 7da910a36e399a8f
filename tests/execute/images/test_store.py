"""The store: one import at a time, whole or not at all, whatever happens in between. Real registry, real files."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from launcher.execute.held import held
from launcher.execute.images import inspect
from launcher.execute.images.failure import Failure
from launcher.execute.images.make import BLOBS, Maker
from launcher.execute.images.store import Store
from launcher.execute.images.transport import Limits
from launcher.execute.world import Real
from tests.execute.images.clients import client, named
from tests.execute.images.flat import tree, unsquash
from tests.testbed import oci, registry
from tests.testbed.oci import Entry, Made
from tests.testbed.registry import Fault, Proxy, Served

SETTINGS = {
    "Env": ["PATH=/opt/bin:/bin", "A=b c", "LINES=one\ntwo"],
    "Entrypoint": ["/bin/serve", "--it's"],
    "Cmd": ["x"],
    "WorkingDir": "/srv/w d",
    "Labels": {"org.title": "a\nb"},
    "Volumes": {"/data": {}},
}
QUICK = Limits(connect=2.0, read=0.6, whole=5.0, tries=1, pause=0.01, longest=2.0)
IMAGE = "s/image:1"


@pytest.fixture
def front(served: Served) -> Iterator[Proxy]:
    """A proxy before the open registry."""
    with registry.proxy(served.host) as running:
        yield running


@pytest.fixture(scope="module")
def made(served: Served) -> Made:
    """An image of three layers, a megabyte each that does not compress, and its like for another architecture."""
    layers = [[Entry(f"f{number}", os.urandom(1 << 20)), Entry("bin/sh", b"#", mode=0o755)] for number in range(3)]
    image = oci.image(layers, config=SETTINGS)
    served.pusher.push("s/image", "1", image)
    served.pusher.push("s/arm", "1", oci.image([[Entry("a")]], arch="arm64"))
    return image


def store(folder: Path, told: list[str] | None = None, limits: Limits = QUICK) -> Store:
    world = Real({"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
    asked = client(world, limits)
    return Store(world, folder, asked, Maker(world, asked), told=(told if told is not None else []).append)


def remains(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith(".") and path.suffix != ".lock")


def test_what_enroot_would_have_added(served: Served, made: Made, tmp_path: Path) -> None:
    path = store(tmp_path / "store").ensure(named(served.host, IMAGE), "x86_64")
    unsquash(path, tmp_path / "root")
    root = tmp_path / "root"
    assert (root / "etc/environment").read_text() == "PATH=/opt/bin:/bin\nA=b c\nLINES=one two\n"
    assert (root / "etc/fstab").read_text() == "${ENROOT_ROOTFS}/data /data none x-create=dir,bind,rw,nosuid,nodev\n"
    rc = (root / "etc/rc").read_text()
    assert rc.splitlines()[:2] == [f"# enroot-provenance: docker://{served.host}/s/image:1", "# org.title: a b"]
    assert (root / "etc/rc").stat().st_mode & 0o777 == 0o644
    assert (root / "srv/w d").is_dir()
    assert subprocess.run(["sh", "-n"], input=rc, text=True).returncode == 0
    said = rc.replace("exec ", "printf '%s|' ").replace("/srv/w d", str(root / "srv/w d"))
    for words, expected in (([], "/bin/serve|--it's|x|"), (["a b"], "/bin/serve|--it's|a b|")):
        done = subprocess.run(["sh", "-c", said, "sh", *words], capture_output=True, text=True, check=True)
        assert done.stdout == expected
    assert {entry[2] for entry in tree(root).values() if len(entry) == 6} == {0}


def test_it_is_made_once(front: Proxy, made: Made, tmp_path: Path) -> None:
    said: list[str] = []
    front.delay = 0.05

    def ensure(number: int) -> Path:
        return store(tmp_path, said, Limits()).ensure(named(front.host, IMAGE), "x86_64")

    with ThreadPoolExecutor(max_workers=20) as pool:
        (path,) = set(pool.map(ensure, range(20)))
    layers = [name for name in front.paths("GET") if "/blobs/" in name and made.config not in name]
    assert len(layers) == len(set(layers)) == 3
    assert path.name.startswith("image-")
    assert path.stat().st_mode & 0o777 == 0o644
    assert remains(tmp_path) == []
    (stored,) = store(tmp_path).all()
    assert (stored.facts["manifest"], stored.facts["arch"]) == (made.digest, "x86_64")


def test_whoever_waits_is_told_for_whom(served: Served, made: Made, tmp_path: Path) -> None:
    said: list[str] = []
    waiting = store(tmp_path, said)
    path, _ = waiting.found(named(served.host, IMAGE), "x86_64")
    with ThreadPoolExecutor(max_workers=1) as pool:
        with held(Real(), path.with_name(f".{path.stem}.lock"), "importing it", 1.0):
            done = pool.submit(waiting.ensure, named(served.host, IMAGE), "x86_64")
            deadline = time.monotonic() + 30
            while not said and time.monotonic() < deadline:
                time.sleep(0.02)
        assert done.result() == path
    assert [line.partition(" of ")[0] for line in said] == [f"waiting for process {os.getpid()}"]
    assert ", importing it for " in said[0]


def test_another_architecture_is_not_made(served: Served, made: Made, tmp_path: Path) -> None:
    with pytest.raises(Failure, match="is for aarch64, and x86_64 is wanted"):
        store(tmp_path).ensure(named(served.host, "s/arm:1"), "x86_64")
    assert list(tmp_path.iterdir()) == []


FAULTS = [
    (Fault("GET .*/blobs/", cut=100_000), "breaks"),
    (Fault("GET .*/blobs/", spoil=True), "something else"),
    (Fault("GET .*/blobs/", length=1000), "breaks"),
    (Fault("GET .*/blobs/", stall=0.8), "does not answer"),
    (Fault("GET .*/blobs/", status=404), "has no"),
]


@pytest.mark.parametrize(("fault", "said"), FAULTS)
def test_a_registry_that_misbehaves_leaves_nothing_wrong(
    front: Proxy, made: Made, fault: Fault, said: str, tmp_path: Path
) -> None:
    plain = store(tmp_path)
    wanted = named(front.host, IMAGE)
    plain.found(wanted, "x86_64")  # what the image is, is known
    front.faults.append(fault)
    with pytest.raises(Failure) as raised:
        plain.ensure(wanted, "x86_64")
    assert said in raised.value.message
    assert not list(tmp_path.glob("*.sqsh"))
    front.faults.clear()
    assert inspect.file(plain.ensure(wanted, "x86_64"))
    assert remains(tmp_path) == []


def test_a_download_goes_on_where_it_was(front: Proxy, made: Made, tmp_path: Path) -> None:
    front.faults.append(Fault("GET .*/blobs/", times=3, cut=700_000))
    store(tmp_path).ensure(named(front.host, IMAGE), "x86_64")
    ranges = [headers["Range"] for _, _, headers in front.seen if "Range" in headers]
    assert ranges
    assert all(int(text[6:-1]) > 0 for text in ranges)


@pytest.mark.parametrize("suffix", ["", ".part"])
def test_what_never_reached_the_disk_is_fetched_anew(front: Proxy, made: Made, suffix: str, tmp_path: Path) -> None:
    """As after a loss of power: the layer is there in name and size, or in part."""
    wanted, plain = named(front.host, IMAGE), store(tmp_path)
    path, _ = plain.found(wanted, "x86_64")
    blobs = path.with_name(f".{path.stem}.layers") / BLOBS
    blobs.mkdir(parents=True)
    layer = max(made.blobs, key=lambda digest: len(made.blobs[digest]))
    size = len(made.blobs[layer]) // (2 if suffix else 1)
    (blobs / (layer.removeprefix("sha256:") + suffix)).write_bytes(bytes(size))
    assert inspect.file(plain.ensure(wanted, "x86_64"))
    ranges = [headers.get("Range") for _, asked, headers in front.seen if asked.endswith(layer)]
    assert ranges == [f"bytes={size}-", None] if suffix else [None]


@pytest.mark.parametrize("status", [200, 416, 401])
def test_a_registry_that_does_not_go_on(front: Proxy, made: Made, tmp_path: Path, status: int) -> None:
    """It knows no ranges, or a token has ended meanwhile."""
    layer = max(made.blobs, key=lambda digest: len(made.blobs[digest]))
    front.bearer = True
    scope = "repository:s/image:pull"
    again = f'Bearer realm="http://{front.host}/token",service="testbed",scope="{scope}",error="invalid_token"'
    front.faults[:] = [
        Fault(f"GET .*{layer}", times=1, cut=300_000),
        Fault(f"GET .*{layer}", times=1, whole=True)
        if status == 200
        else Fault(f"GET .*{layer}", times=1, status=status, headers={"WWW-Authenticate": again}),
    ]
    assert inspect.file(store(tmp_path).ensure(named(front.host, IMAGE), "x86_64"))
    ranges = [headers.get("Range") or headers.get("range") for _, path, headers in front.seen if path.endswith(layer)]
    more: dict[int, list[str | None]] = {200: [], 416: [None], 401: ["bytes=300000-"]}
    assert ranges == [None, "bytes=300000-", *more[status]]


PROGRAM = """\
import os, sys
from pathlib import Path
from launcher.execute.images.logins import Logins
from launcher.execute.images.make import Maker
from launcher.execute.images.registry import Registry
from launcher.execute.images.store import Store
from launcher.execute.images.transport import Transport
from launcher.execute.world import Real
from launcher.images.reference import parse
world = Real({"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
asked = Registry(Transport(world, Logins(world.environ)))
store = Store(world, Path(sys.argv[1]), asked, Maker(world, asked))
print("begun", flush=True)
store.ensure(parse(sys.argv[2]), "x86_64")
"""


def test_killed_at_any_moment_the_next_finishes(front: Proxy, made: Made, tmp_path: Path) -> None:
    front.delay = 0.02
    words = [sys.executable, "-c", PROGRAM, str(tmp_path), f"{front.host}/s/image:1"]
    for turn in range(6):
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
            assert running.stdout is not None
            running.stdout.readline()
            time.sleep(0.04 * turn)
            running.send_signal(signal.SIGKILL)
        for path in tmp_path.glob("*.sqsh"):
            assert inspect.file(path)
    path = store(tmp_path).ensure(named(front.host, IMAGE), "x86_64")
    assert inspect.file(path)
    assert remains(tmp_path) == []


def test_a_file_that_is_cut_short_is_made_anew(served: Served, made: Made, tmp_path: Path) -> None:
    plain = store(tmp_path)
    path = plain.ensure(named(served.host, IMAGE), "x86_64")
    whole = path.read_bytes()
    path.write_bytes(whole[:5000])
    assert plain.ensure(named(served.host, IMAGE), "x86_64").read_bytes() == whole


@pytest.mark.parametrize(("size", "said"), [("1m", "MiB are wanted for"), ("12m", None)])
def test_a_disk_that_is_too_small(served: Served, made: Made, tmp_path: Path, size: str, said: str | None) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], check=True)
    try:
        if said is None:
            # Room for it at first, and gone when it is needed.
            plain = store(disk)
            filling = replace(plain, maker=replace(plain.maker, progress=lambda text: _fill(disk)))
            with pytest.raises(Failure, match="has no room left: ") as raised:
                filling.ensure(named(served.host, IMAGE), "x86_64")
            assert raised.value.kind == "full"
            (disk / "filler").unlink()
            assert inspect.file(plain.ensure(named(served.host, IMAGE), "x86_64"))
        else:
            with pytest.raises(Failure, match=said) as raised:
                store(disk).ensure(named(served.host, IMAGE), "x86_64")
            assert raised.value.kind == "full"
        assert not [path for path in disk.glob("*.sqsh") if not inspect.file(path)]
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def _fill(disk: Path) -> None:
    if (disk / "filler").exists():
        return
    try:
        (disk / "filler").write_bytes(bytes(13 << 20))
    except OSError:
        return


def test_a_store_that_is_read_only(served: Served, made: Made, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", disk], check=True)
    try:
        with pytest.raises(Failure, match="its file system is read-only") as raised:
            store(disk).ensure(named(served.host, IMAGE), "x86_64")
        assert raised.value.kind == "closed"
    finally:
        subprocess.run(["umount", disk], check=True)
