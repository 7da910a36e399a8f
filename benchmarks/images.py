"""Images: what checks cost on a registry far away, and making a `.sqsh` beside skopeo, umoci and mksquashfs.

    python -m benchmarks.images [MEBIBYTES]

As root: the peers unpack owners. The image is made of this machine's own files, in many layers. Prints what is in
`images.md`.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from benchmarks.measure import cost
from launcher.execute.images import answers
from launcher.model.facts import Tag
from tests.testbed import oci, registry
from tests.testbed.registry import Served

MEBIBYTES = 1024
LAYERS = 8
FOLDERS = (Path("/usr/lib"), Path(sys.prefix), Path(sys.base_prefix), Path("/usr/share"), Path("/usr/bin"))
FAR = 0.05


@dataclass(frozen=True)
class Made:
    """One way to a `.sqsh`: seconds, peak memory of its largest process in MB, the file, seconds to unpack it."""

    way: str
    wall: float
    peak: float
    size: int
    unpack: float


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


def unpacked(image: Path, scratch: Path) -> float:
    """Seconds that `unsquashfs` takes, as for each step of a node."""
    root = scratch / "root"
    began = time.perf_counter()
    words = ["unsquashfs", "-no-progress", "-quiet", "-dest", str(root), str(image)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    took = time.perf_counter() - began
    shutil.rmtree(root)
    return took


def ours(served: Served, scratch: Path) -> list[Sequence[str]]:
    """`launch images ensure`."""
    words = [sys.executable, "-m", "launcher", "images", "ensure", f"{served.host}/bench:1", "--arch", "x86_64"]
    return [[*words, "--store", str(scratch / "store"), "--cluster", "gb300"]]


def peers(served: Served, scratch: Path) -> list[Sequence[str]]:
    """Three programs, one after another, through an unpacked copy."""
    root, out = str(scratch / "bundle"), str(scratch / "peer.sqsh")
    return [
        ["skopeo", "copy", "-q", "--src-tls-verify=false", f"docker://{served.host}/bench:1", f"oci:{scratch}/oci:x"],
        ["umoci", "raw", "unpack", "--image", f"{scratch}/oci:x", root],
        ["mksquashfs", root, out, "-noappend", "-no-progress", "-quiet", "-comp", "lzo", "-noD", "-all-root"],
    ]


def measured(way: str, commands: Sequence[Sequence[str]], out: Callable[[], Path], scratch: Path) -> Made:
    """The commands one after another, and their file."""
    costs = [cost(words) for words in commands]
    image = out()
    took = unpacked(image, scratch)
    return Made(way, sum(each.wall for each in costs), max(each.peak for each in costs), image.stat().st_size, took)


def conversions(mebibytes: int) -> list[Made]:
    """Both ways on one image."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name, registry.registry(_made(Path(name) / "r")) as served:
        # By a process of its own: this one's memory would count as that of what it starts.
        words = [sys.executable, "-m", "benchmarks.images", "push", served.host, str(mebibytes)]
        subprocess.run(words, check=True)
        found = []
        for way, commands, pattern in (
            ("launch images ensure", ours, "store/*.sqsh"),
            ("skopeo, umoci, mksquashfs -comp lzo -noD", peers, "peer.sqsh"),
        ):
            scratch = _made(Path(name) / hashlib.sha256(way.encode()).hexdigest()[:6])
            made = measured(way, commands(served, scratch), lambda p=pattern, s=scratch: next(s.glob(p)), scratch)  # type: ignore[misc]
            found.append(made)
        return found


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def checks() -> float:
    """Seconds to find out about six images, all different, on a registry whose every answer takes 50 ms."""
    os.environ["XDG_CACHE_HOME"] = "/nonexistent"
    with tempfile.TemporaryDirectory() as name, registry.registry(Path(name)) as served:
        for number in range(6):
            shell = [oci.Entry("bin/sh", b"#", mode=0o755), oci.Entry(f"{number}")]
            made = oci.image([shell], history=("RUN true",))
            served.pusher.push(f"far{number}", "1", made)
        with registry.proxy(served.host) as front:
            front.delay = FAR
            questions = [Tag(f"{front.host}/far{number}:1", "x86_64") for number in range(6)]
            began = time.perf_counter()
            with ThreadPoolExecutor(max_workers=8) as pool:
                found = list(pool.map(answers.answer, questions))
            took = time.perf_counter() - began
    if not all(each.image for each in found):
        raise RuntimeError(f"not all images were found: {found}")
    return took


def main() -> None:
    if sys.argv[1:2] == ["push"]:
        Served(sys.argv[2]).pusher.push("bench", "1", oci.image(list(layers(int(sys.argv[3])))))
        return
    mebibytes = int(sys.argv[1]) if len(sys.argv) > 1 else MEBIBYTES
    print(f"six images on a registry 50 ms away: {checks():.2f} s (aim 0.6 s)\n")
    print(f"| {mebibytes} MiB in {LAYERS} layers | s | peak MB | file MB | s to unpack |")
    print("|---|---|---|---|---|")
    for made in conversions(mebibytes):
        print(f"| {made.way} | {made.wall:.1f} | {made.peak:.0f} | {made.size / 1e6:.0f} | {made.unpack:.1f} |")


if __name__ == "__main__":
    main()
