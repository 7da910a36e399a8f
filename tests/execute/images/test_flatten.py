"""Layers as one squashfs file: equal to what umoci unpacks; hostile ones refused or kept inside."""

import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from launcher.execute.images.failure import Failure
from launcher.execute.images.squash import Squash, program, words
from launcher.model.cluster import Store
from tests.execute.images.flat import squash, tree, umoci, unsquash
from tests.testbed import oci
from tests.testbed.oci import Entry, folder, hard, symlink

COMPRESSORS = get_args(Store.model_fields["compressor"].annotation)
FOLDERS = ["d", "d/e", "d/e/g", "h"]
FILES = ["f", "d/f", "d/e/f", "h/i", "d/x-" + "long" * 40, "d/é"]
LINKS = ["l", "d/l", "h/l"]
ANY = ["k", "d/k"]
TARGETS = ["f", "d", "/d/f", "../d", "nowhere", "/", "e/f"]

MODES = st.sampled_from([0o644, 0o755, 0o4755, 0o600, 0o1777])
XATTRS = st.sampled_from([{}, {}, {"user.a": "b"}])


def files(paths: Sequence[str]) -> st.SearchStrategy[Entry]:
    return st.builds(Entry, st.sampled_from(paths), st.binary(max_size=9), mode=MODES, xattrs=XATTRS)


MEMBERS = st.one_of(
    st.builds(folder, st.sampled_from([*FOLDERS, *(f"./{path}/" for path in FOLDERS)]), mode=MODES),
    files(FILES),
    files([*FILES, *ANY]),
    st.builds(symlink, st.sampled_from([*LINKS, *ANY]), st.sampled_from(TARGETS)),
    st.builds(folder, st.sampled_from(ANY)),
    st.sampled_from([*FOLDERS, *FILES, *LINKS, *ANY]).map(lambda path: Entry(_beside(path, f".wh.{Path(path).name}"))),
    st.sampled_from(FOLDERS).map(lambda path: Entry(f"{path}/.wh..wh..opq")),
)


def _beside(path: str, name: str) -> str:
    return str(Path(path).with_name(name))


def _sensible(entries: list[Entry]) -> list[Entry]:
    """Without whiteouts of what is in the same layer: a layer that hides its own is read differently by everybody."""
    names = {str(Path(each.name)) for each in entries if ".wh." not in each.name}
    own = names | {str(parent) for name in names for parent in Path(name).parents}
    return [each for each in entries if each.name.replace(".wh.", "") not in own]


@st.composite
def layers(draw: st.DrawFn) -> list[list[Entry]]:
    """One to four layers; links name what is there."""
    found: list[list[Entry]] = []
    known: set[str] = set()
    for _ in range(draw(st.integers(1, 4))):
        entries = _sensible(draw(st.lists(MEMBERS, max_size=7)))
        names = {each.name for each in entries if each.kind == tarfile.REGTYPE and ".wh." not in each.name}
        if draw(st.booleans()) and (known | names):
            target = draw(st.sampled_from(sorted(known | names)))
            entries.append(hard(draw(st.sampled_from(["hard", "d/hard", "h/hard"])), target))
        known |= names
        found.append(entries)
    return found


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(layers(), st.sampled_from(["gzip", "zstd"]))
def test_ours_and_umoci_are_equal(made: list[list[Entry]], compression: Any) -> None:
    image = oci.image(made, compression=compression if compression == "gzip" else "none")
    with tempfile.TemporaryDirectory() as name:
        theirs = umoci(image, Path(name))
        assume(theirs is not None)
        assert theirs is not None
        ours = oci.image(made, compression=compression)
        squash(ours, Path(name) / "a.sqsh")
        unsquash(Path(name) / "a.sqsh", Path(name) / "ours")
        assert tree(Path(name) / "ours") == tree(theirs)


GOOD = [folder("d"), Entry("d/f", b"1")]

HOSTILE: list[tuple[list[list[Entry]], str]] = [
    ([[Entry("../../etc/passwd", b"x")]], "which leaves the image"),
    ([[Entry("d/../../x", b"x")]], "which leaves the image"),
    ([[hard("x", "../../etc/passwd")]], "which leaves the image"),
    ([[hard("x", "nowhere")]], "which no layer has"),
    ([[Entry("f", b"x"), Entry("f/x", b"x")]], "below `f`, which is a file"),
    ([[symlink("a", "b"), symlink("b", "a"), Entry("a/x", b"x")]], "links in a circle"),
]


@pytest.mark.parametrize(("made", "said"), HOSTILE)
def test_a_hostile_layer_is_refused(made: list[list[Entry]], said: str, tmp_path: Path) -> None:
    with pytest.raises(Failure) as raised:
        squash(oci.image(made), tmp_path / "a.sqsh")
    assert said in raised.value.message


CONTAINED: list[tuple[list[list[Entry]], dict[str, Any]]] = [
    ([[Entry("/etc/x", b"x")]], {"etc/x": b"x"}),
    ([[symlink("a", "/etc"), Entry("a/x", b"x")]], {"a": "/etc", "etc/x": b"x"}),
    ([[symlink("a", "../../.."), Entry("a/x", b"x")]], {"a": "../../..", "x": b"x"}),
    # A layer that knows nothing of the link below it, as some builders make them on a merged /usr.
    ([[symlink("lib", "usr/lib")], [Entry("lib/x", b"x")]], {"lib": "usr/lib", "usr/lib/x": b"x"}),
    ([[symlink("d/up", "/tmp")], [Entry("d/up/x", b"x")]], {"d/up": "/tmp", "tmp/x": b"x"}),
    ([[Entry("dev/sda", kind=tarfile.BLKTYPE, device=(8, 0)), Entry("a", b"")]], {"a": b""}),
    ([[Entry("c", kind=tarfile.CHRTYPE, device=(1, 3)), Entry("a", b"")]], {"a": b""}),
    ([[*GOOD, Entry("d/f", b"2")]], {"d/f": b"2"}),  # the last of two counts
    ([GOOD, [Entry("d/.wh.f")]], {}),
    ([[Entry("a", b"1")], [hard("b", "a")]], {"a": b"1", "b": b"1"}),
    ([[Entry("a", b"1"), hard("b", "a")], [Entry("a", b"2")]], {"a": b"2", "b": b"1"}),
    ([[hard("b", "a"), Entry("a", b"1")]], {"a": b"1", "b": b"1"}),
]


@pytest.mark.parametrize(("made", "files"), CONTAINED)
def test_what_is_kept_inside(made: list[list[Entry]], files: dict[str, Any], tmp_path: Path) -> None:
    squash(oci.image(made), tmp_path / "a.sqsh")
    unsquash(tmp_path / "a.sqsh", tmp_path / "root")
    found = {path: entry for path, entry in tree(tmp_path / "root").items() if not _folder(entry)}
    assert {path: entry[1] if len(entry) == 2 else entry[4][0] for path, entry in found.items()} == files


def _folder(entry: Any) -> bool:
    return len(entry) == 6 and entry[4] is None


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="it is a bomb, or broken"):
        squash(oci.image([[Entry("zeros", bytes(8 << 20))]]), tmp_path / "a.sqsh", most=1 << 20)


@pytest.mark.parametrize("compression", ["gzip", "zstd", "none"])
@pytest.mark.parametrize("cut", [30, 200, 1500])
def test_a_layer_that_is_cut_short(compression: Any, cut: int, tmp_path: Path) -> None:
    body = oci.pressed(oci.tar([Entry("a", os.urandom(4000)), Entry("b", b"b")]), compression)
    image = oci.image([[Entry("x")]], compression=compression)
    blobs = {name: content if name == image.config else body[:cut] for name, content in image.blobs.items()}
    with pytest.raises(Failure):
        squash(oci.Made(blobs, image.manifest, image.kind, image.arch, image.config), tmp_path / "a.sqsh")


EXAMPLE = [
    [
        folder("./", 0o700),
        folder("etc", 0o700),
        Entry("etc/a", b"a" * 5000),
        Entry("bin/su", b"#", mode=0o4755),
        symlink("l", "etc"),
    ],
    [Entry("etc/b", b"b", xattrs={"user.x": "y"}), hard("etc/c", "etc/b"), Entry("w/" + "long" * 60, b"1")],
]


def test_the_same_bytes_each_time(tmp_path: Path) -> None:
    sums = set()
    for number in range(3):
        squash(oci.image(EXAMPLE, compression="zstd" if number else "gzip"), tmp_path / f"{number}.sqsh")
        sums.add(hashlib.sha256((tmp_path / f"{number}.sqsh").read_bytes()).hexdigest())
    assert len(sums) == 1


@pytest.mark.parametrize(
    ("name", "compressor"),
    [
        *((name, compressor) for name in ("mksquashfs", "sqfstar") for compressor in COMPRESSORS),
        *(("tar2sqfs", compressor) for compressor in ("zstd", "gzip", "xz")),
    ],
)
def test_every_writer_makes_the_same_tree(name: str, compressor: str, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / name).symlink_to(f"/usr/bin/{name}")
    squash(oci.image(EXAMPLE), tmp_path / "ours.sqsh")
    for each in ("theirs", "again"):
        writer = Squash({"PATH": str(tmp_path / "bin")}, tmp_path / f"{each}.sqsh", compressor)
        squash(oci.image(EXAMPLE), tmp_path / f"{each}.sqsh", writer)
    for each in ("ours", "theirs"):
        unsquash(tmp_path / f"{each}.sqsh", tmp_path / each)
    assert tree(tmp_path / "ours") == tree(tmp_path / "theirs")
    assert (tmp_path / "theirs.sqsh").read_bytes() == (tmp_path / "again.sqsh").read_bytes()
    # The time of day would differ a second later.
    assert (tmp_path / "theirs").stat().st_mtime == 0
    # Folders that no layer names have no time of their own.
    assert (tmp_path / "theirs" / "w").stat().st_mtime == 0


def test_the_time_of_the_root_wherever_its_inode_is(tmp_path: Path) -> None:
    """Inodes of 32 bytes, and one of another length, so that the root's begins anywhere up to the end of a block."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mksquashfs").symlink_to("/usr/bin/mksquashfs")
    files = [Entry(f"f{number}", b"", mode=0o600) for number in range(253)]
    for length in range(56, 76):
        out = tmp_path / f"{length}.sqsh"
        writer = Squash({"PATH": str(tmp_path / "bin")}, out, "gzip")
        squash(oci.image([[*files, symlink("l", "x" * length)]]), out, writer)
        words = ["unsquashfs", "-lls", str(out)]
        said = subprocess.run(words, check=True, capture_output=True, text=True, env={**os.environ, "TZ": "UTC"}).stdout
        listed = [line for line in said.splitlines() if "squashfs-root" in line]
        assert re.fullmatch(r"drwxr-xr-x root/root +\d+ 1970-01-01 00:00 squashfs-root", listed[0])
        assert len(listed) == 255


WRITER = """\
#!/bin/sh
cat >/dev/null
echo 'writing super block: I/O error.' >&2
exit 1
"""


@pytest.mark.parametrize(("filled", "kind"), [(True, "full"), (False, "faulty")])
def test_a_full_disk_is_the_cause_whatever_the_writer_says(filled: bool, kind: str, tmp_path: Path) -> None:
    writer = tmp_path / "tar2sqfs"
    writer.write_text(WRITER)
    writer.chmod(0o755)
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=True)
    squash = Squash({"PATH": f"{tmp_path}:{os.environ['PATH']}"}, disk / "image.sqsh")
    try:
        if filled:
            (disk / "filler").write_bytes(bytes(1 << 20))
        squash.restart()
        with pytest.raises(Failure, match="I/O error") as raised:
            squash.close()
        assert raised.value.kind == kind
    finally:
        squash.kill()
        subprocess.run(["umount", "-l", disk], check=True)


def test_no_writer_is_said(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="no program here makes squashfs files compressed by zstd"):
        program(str(tmp_path), "zstd")
    (tmp_path / "tar2sqfs").symlink_to("/usr/bin/tar2sqfs")
    assert program(str(tmp_path), "zstd") == "tar2sqfs"
    with pytest.raises(Failure, match="no program here makes squashfs files compressed by lz4"):
        program(str(tmp_path), "lz4")


# A child has its parent's memory, for Linux, until it runs its own program: what measures here is small.
MEASURE = """\
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], stdout=sys.stderr)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
"""


@pytest.mark.parametrize("name", ["tar2sqfs", "mksquashfs"])
@pytest.mark.parametrize("jobs", [2, 16])
def test_memory_of_the_writer_is_bounded(name: str, jobs: int, tmp_path: Path) -> None:
    made = [sys.executable, "-I", "-c", MEASURE, *words(name, "zstd", jobs, tmp_path / "a.sqsh")]
    with subprocess.Popen(made, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None and running.stdout is not None
        info = tarfile.TarInfo("big")
        info.size = 96 << 20
        running.stdin.write(info.tobuf())
        for _ in range(96):
            running.stdin.write(os.urandom(1 << 20))
        running.stdin.write(bytes(1024))
        running.stdin.close()
        peak = int(running.stdout.read())
    assert running.returncode == 0
    assert 10 << 10 < peak < 200 << 10  # of the 300 MB in all, of which Python has less than 100


def test_memory_does_not_grow_with_the_image(tmp_path: Path) -> None:
    image = oci.image([[Entry("big", os.urandom(1 << 20) * 48)]], compression="none")
    tracemalloc.start()
    squash(image, tmp_path / "a.sqsh")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 << 20
