"""A registry's image into a `.sqsh`: ours, beside skopeo, umoci and mksquashfs, and enroot where it is.

As root: the peers unpack owners, and a Slurm of one node starts a step from each file. The image is made of this
machine's own files, in many layers.
"""

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from io import BytesIO
from pathlib import Path

import psutil

from benchmarks.measure import Cost, cost
from tests.slurm.test_image_store import layer
from tests.testbed import image, oci, plugin, registry, slurm
from tests.testbed.bed import Bed
from tests.testbed.layout import Layout
from tests.testbed.registry import Served

NAME, TAG = "bench", "1"
LAYERS = 24
FOLDERS = (Path("/usr/lib"), Path(sys.prefix), Path(sys.base_prefix), Path("/usr/share"), Path("/usr/bin"))
FAR = 0.05
ROUNDS = 3
COMPRESSORS = ("zstd", "lz4", "gzip")
ENROOT = ("-comp", "lzo", "-noD", "-all-root")
"""What enroot gives to `mksquashfs` unless told otherwise."""

PLAIN = ("-noI", "-noD", "-noF", "-noX")
"""Nothing is compressed: no file unpacks with less work."""

SITE = """\
schema = 1
name = "site"
runtime = "pyxis"
[store]
path = "{folder}"
compressor = "{compressor}"
"""


@dataclass(frozen=True)
class Made:
    """One way to a `.sqsh`: seconds, CPU seconds, peak memory of all its processes in MB, MB written and of the file;
    seconds and CPU seconds to unpack it, seconds where it is not cached, seconds to start a step from it.
    """

    way: str
    wall: float
    cpu: float
    peak: float
    written: float
    size: float
    unpack: float
    unpack_cpu: float
    cold: float
    start: float


@dataclass(frozen=True)
class Way:
    """Commands, one after another, and the file they make."""

    name: str
    commands: Sequence[Sequence[str]]
    out: str
    env: Mapping[str, str]


def layers(mebibytes: int) -> Iterator[bytes]:
    """Archives of this machine's files, about so much together."""
    left, files = mebibytes << 20, _files()
    for _ in range(LAYERS):
        share, buffer = (mebibytes << 20) // LAYERS, BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
            while share > 0 and left > 0:
                path = next(files, None)
                if path is None:
                    break
                archive.add(path, str(path).lstrip("/"), recursive=False)
                share -= path.lstat().st_size
                left -= path.lstat().st_size
        yield buffer.getvalue()


def _files() -> Iterator[Path]:
    for folder in FOLDERS:
        for parent, _, names in os.walk(folder):
            yield from (path for name in names if not (path := Path(parent) / name).is_symlink() and path.is_file())


def unpacked(image: Path, scratch: Path, *, cold: bool = False) -> Cost:
    """What `unsquashfs` costs, as for each step of a node; `cold` for the first, which finds nothing in memory."""
    root = scratch / "root"
    os.sync()
    if cold:
        with image.open("rb") as content:
            os.posix_fadvise(content.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    found = cost(["unsquashfs", "-no-progress", "-quiet", "-dest", str(root), str(image)])
    shutil.rmtree(root)
    return found


def started(bed: Bed, image: Path) -> float:
    """Seconds until a step in a container made from it has ended, on a testbed whose pyxis unpacks as the real one."""
    os.sync()
    began = time.perf_counter()
    done = bed.srun("--nodes=1", f"--container-image={image}", "true", timeout=600)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return time.perf_counter() - began


def ways(served: Served, scratch: Path) -> Iterator[Way]:
    """Ours, with each compressor that is quick; three programs through an unpacked copy; enroot where it is."""
    image = f"{served.host}/{NAME}:{TAG}"
    for compressor in COMPRESSORS:
        folder = _made(scratch / compressor)
        site = folder / "site.toml"
        site.write_text(SITE.format(folder=folder, compressor=compressor))
        words = [sys.executable, "-m", "launcher", "images", "ensure", image, "--arch", "x86_64"]
        yield Way(f"launch images ensure, {compressor}", [[*words, "--cluster", str(site)]], f"{folder}/*.sqsh", {})
    for name, options in (("lzo", ENROOT), ("plain", PLAIN)):
        folder = _made(scratch / name)
        commands = [
            ["skopeo", "copy", "-q", "--src-tls-verify=false", f"docker://{image}", f"oci:{folder}/oci:x"],
            ["umoci", "raw", "unpack", "--image", f"{folder}/oci:x", f"{folder}/root"],
            ["mksquashfs", f"{folder}/root", f"{folder}/a.sqsh", "-noappend", "-no-progress", "-quiet", *options],
        ]
        yield Way(f"skopeo, umoci, mksquashfs {' '.join(options)}", commands, f"{folder}/a.sqsh", {})
    if shutil.which("enroot"):
        out = str(_made(scratch / "enroot") / "a.sqsh")
        words = ["enroot", "import", "--output", out, f"docker://{served.host}#{NAME}:{TAG}"]
        env = {"ENROOT_ALLOW_HTTP": "yes", "ENROOT_CACHE_PATH": str(scratch / "cache")}
        yield Way("enroot import", [words], out, env)


def watched(words: Sequence[str], env: Mapping[str, str]) -> Cost:
    """What a command costs, its peak that of all its processes together, looked at twenty times a second."""
    peaks, ended = [0.0], threading.Event()

    def watch() -> None:
        me = psutil.Process()
        while not ended.wait(0.05):
            total = 0
            for each in me.children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    total += each.memory_info().rss
            peaks.append(total / 1e6)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        found = cost(words, {**os.environ, **env})
    finally:
        ended.set()
        thread.join()
    return Cost(found.cpu, found.wall, max(peaks), found.written)


def measured(way: Way, scratch: Path, bed: Bed) -> Made:
    """The commands one after another, and what their file is worth; each when nothing is left to be written."""
    os.sync()
    costs = [watched(words, way.env) for words in way.commands]
    made = next(Path("/").glob(way.out.lstrip("/")))
    unpack, cold = unpacked(made, scratch), unpacked(made, scratch, cold=True)
    image = bed.shared / made.name
    shutil.move(made, image)
    found = Made(
        way.name,
        wall=sum(each.wall for each in costs),
        cpu=sum(each.cpu for each in costs),
        peak=max(each.peak for each in costs),
        written=sum(each.written for each in costs),
        size=image.stat().st_size / 1e6,
        unpack=unpack.wall,
        unpack_cpu=unpack.cpu,
        cold=cold.wall,
        start=started(bed, image),
    )
    image.unlink()
    return found


def conversions(mebibytes: int) -> Iterator[Made]:
    """All ways on one image of so many mebibytes, some rounds in turn: each way's medians."""
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        served = stack.enter_context(registry.registry(_made(scratch / "registry")))
        bed = stack.enter_context(slurm.bed(Layout(nodes=1), plugin.plugin()))
        # By a process of its own: this one's memory would count as that of what it starts.
        words = [sys.executable, "-m", "benchmarks.conversion", served.host, str(mebibytes)]
        subprocess.run(words, check=True)
        rounds = []
        for number in range(ROUNDS):
            folder = _made(scratch / str(number))
            rounds.append([measured(way, folder, bed) for way in ways(served, folder)])
            shutil.rmtree(folder)
        yield from map(median, zip(*rounds, strict=True))


def median(times: Sequence[Made]) -> Made:
    """What one way took at several times."""
    figures = [field.name for field in fields(Made) if field.name != "way"]
    return Made(times[0].way, *(statistics.median(getattr(each, name) for each in times) for name in figures))


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def main() -> None:
    """Pushes the image of so many mebibytes: `python -m benchmarks.conversion HOST MEBIBYTES`."""
    whole = [layer(image.root(image.TINY)), *layers(int(sys.argv[2]))]
    # enroot's first request names no type: docker-registry then wants a history to make an older manifest of.
    pushed = oci.image(whole, dialect="docker", history=["a layer"] * len(whole))
    Served(sys.argv[1]).pusher.push(NAME, TAG, pushed)


if __name__ == "__main__":
    main()
