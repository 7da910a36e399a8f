"""`make bench-images`: what images cost, beside enroot and what people use without it; writes `benchmarks/images.md`.

As root. What enroot does is measured where it is on PATH.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.conversion import LAYERS, ROUNDS, Made, conversions
from benchmarks.run import Limit, machine, promises
from launcher.execute.images import answers
from launcher.model.facts import Tag
from tests.testbed import oci, registry

RESULTS = Path(__file__).with_name("images.md")
MEBIBYTES = 1024
FAR = 0.05
PACKAGES = ("squashfs-tools-ng", "squashfs-tools", "skopeo", "umoci")
COLUMNS = ("s", "CPU s", "peak MB", "MB written", "file MB", "s to unpack", "CPU s", "s uncached", "s to start a step")
OURS, ENROOT = "launch images ensure, zstd", "enroot import"

WRITERS = """\
Peak memory is that of all processes of a way together, looked at twenty times a second. `-comp lzo -noD` is what enroot
gives to `mksquashfs`. Each way begins, and each file is unpacked and started from, when nothing is left to be written.
To unpack a file that is not compressed at all (`-noI -noD -noF -noX`) is the least that unpacking can take: the rest is
the writing of what was in it. Uncached is the file for the first step of each node.

The default is zstd, level 1, in blocks of 128 KiB. It decompresses on all cores, so that on a GPU node the reading of
the file counts, by every node at once and often over a network: of the compressors that are quick, it makes the
smallest files."""


def checks() -> float:
    """Seconds to find out about six images, all different, on a registry whose every answer takes 50 ms."""
    with tempfile.TemporaryDirectory() as name, registry.registry(Path(name)) as served:
        # Root makes whatever folder it is told: one that outlives the measurement would have answers the next time.
        os.environ["XDG_CACHE_HOME"] = f"{name}/cache"
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


def limits(took: float, made: Sequence[Made]) -> Iterator[Limit]:
    """What is promised; beside enroot where it was there."""
    ways = {each.way: each for each in made}
    ours, enroot = ways[OURS], ways.get(ENROOT)
    yield "six images on a registry 50 ms away", took, 0.6, "s"
    yield "peak memory", ours.peak, 300, "MB"
    if enroot is not None:
        yield "time, over enroot's", ours.wall / enroot.wall, 1 / 3, "×"
        yield "size of the file, over enroot's", ours.size / enroot.size, 1 / 2, "×"
        yield "time to unpack it, over enroot's", ours.unpack / enroot.unpack, 1 / 3, "×"
        yield "the same where it is not cached", ours.cold / enroot.cold, 1 / 3, "×"


def table(made: Sequence[Made]) -> Iterator[str]:
    """What each way costs."""
    heads = (f"{MEBIBYTES} MiB in {LAYERS} layers", *COLUMNS)
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for each in made:
        cells = (f"{each.wall:.1f}", f"{each.cpu:.1f}", f"{each.peak:.0f}", f"{each.written:.0f}", f"{each.size:.0f}")
        more = (f"{each.unpack:.1f}", f"{each.unpack_cpu:.1f}", f"{each.cold:.1f}", f"{each.start:.1f}")
        yield f"| {' | '.join((each.way, *cells, *more))} |"


def report(rows: Sequence[Limit], made: Sequence[Made]) -> Iterator[str]:
    """The whole of images.md."""
    yield "# Images, measured"
    yield ""
    yield f"Written by `make bench-images` on {time.strftime('%Y-%m-%d')}: {machine()}; {', '.join(programs())}."
    yield f"Medians of {ROUNDS} rounds in turn, of an image made of this machine's own files."
    yield ""
    yield from promises(rows)
    yield ""
    yield from table(made)
    yield ""
    yield from WRITERS.splitlines()
    if ENROOT not in {each.way for each in made}:
        yield ""
        yield "enroot was not on PATH."


def programs() -> Iterator[str]:
    """Versions of the peers."""
    for name in PACKAGES:
        words = ["dpkg-query", "--show", "--showformat=${source:Upstream-Version}", name]
        yield f"{name} {subprocess.run(words, capture_output=True, text=True, check=True).stdout}"
    if shutil.which("enroot"):
        said = subprocess.run(["enroot", "version"], capture_output=True, text=True, check=True).stdout
        yield f"enroot {said.strip()}"


def main() -> int:
    took, made = checks(), list(conversions(MEBIBYTES))
    rows = list(limits(took, made))
    text = "\n".join(report(rows, made)) + "\n"
    RESULTS.write_text(text, encoding="utf-8")
    print(text)
    return 0 if all(found <= limit for _, found, limit, _ in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
