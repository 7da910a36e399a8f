"""Where rules of pyxis are tried: the testbed with the stand-in, or a cluster with the real one, by the same calls.

A site holds one allocation of two nodes; every trial is a step in it. On a real cluster three variables are wanted:
`LAUNCH_SITE_SHARED` (a folder all nodes see), `LAUNCH_SITE_SALLOC` (words for salloc, like `--partition=…`).
"""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.testbed import image
from tests.testbed.bed import Bed
from tests.testbed.image import Image

Run = Callable[[Sequence[str], Mapping[str, str]], subprocess.Popen[str]]


@dataclass
class Site:
    """One allocation; `start` starts words with the given environment, `shared` is seen under one path everywhere."""

    start: Run
    variables: Mapping[str, str]
    shared: Path
    job: str
    nodes: list[str]
    images: Path
    user: str
    home: str
    data: dict[str, str] = field(default_factory=dict)

    def image(self, which: Image) -> str:
        """Path of the image's `.sqsh` on every node."""
        source = image.squashfs(which)
        target = self.images / f"{which.name}.sqsh"
        if not target.exists():
            shutil.copy(source, target)
        return str(target)

    def words(self, *words: str, node: int = 0) -> list[str]:
        """The words of a step of one task on a node of the allocation."""
        where = [f"--jobid={self.job}", "--overlap", "--nodes=1", "--ntasks=1", f"--nodelist={self.nodes[node]}"]
        return ["srun", *where, "--input=none", "--cpu-bind=none", *words]

    def step(
        self, *words: str, env: Mapping[str, str] | None = None, node: int = 0
    ) -> subprocess.CompletedProcess[str]:
        """Run a step to its end."""
        return self.run(self.words(*words, node=node), env)

    def run(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a program on the login node to its end."""
        with self.start(argv, {**self.variables, **(env or {})}) as process:
            out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(argv, process.returncode, out, err)

    @contextmanager
    def background(
        self, *words: str, env: Mapping[str, str] | None = None, node: int = 0
    ) -> Iterator[subprocess.Popen[str]]:
        """A step that runs meanwhile; it is ended, if need be, when the context is."""
        with self.start(self.words(*words, node=node), {**self.variables, **(env or {})}) as process:
            try:
                yield process
            finally:
                process.terminate()
                process.communicate(timeout=60)

    def roots(self, node: int = 0) -> dict[str, list[int]]:
        """Name → ids of its processes, of every root that enroot lists on a node."""
        done = self.step("enroot", "list", "--fancy", node=node)
        assert done.returncode == 0, done.stderr
        found: dict[str, list[int]] = {}
        for line in done.stdout.splitlines()[1:]:
            words = line.split()
            found.setdefault(words[0], []).extend(int(word) for word in words[1:2] if word.isdecimal())
        return found

    def remove(self, name: str, node: int = 0) -> None:
        """Remove a named root."""
        done = self.step("enroot", "remove", "--force", f"pyxis_{name}", node=node)
        assert done.returncode == 0, done.stderr

    def appears(self, path: Path) -> None:
        """Wait until a step has made a file. Raises AssertionError after a while."""
        limit = time.monotonic() + 30
        while not path.exists():
            assert time.monotonic() < limit, f"no {path}"
            time.sleep(0.02)


def of_bed(bed: Bed) -> Iterator[Site]:
    """A site on the testbed, for its user alice."""
    images = bed.root / "images"
    images.mkdir(exist_ok=True)
    home = str(bed.root / "home/alice")

    def start(argv: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[str]:
        return bed.start(argv, env=env)

    yield from _allocated(Site(start, {}, bed.shared, "", [], images, "alice", home), ["--exclusive"])


def of_cluster() -> Iterator[Site]:
    """A site on the cluster whose login node this is."""
    shared = Path(tempfile.mkdtemp(prefix="launch-site-", dir=os.environ["LAUNCH_SITE_SHARED"]))
    variables = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "SLURM_CONF")
        if name in os.environ
    }

    def start(argv: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(argv, env=env, cwd=shared, text=True, **pipes)  # type: ignore[call-overload, no-any-return]

    site = Site(start, variables, shared, "", [], shared, variables["USER"], variables["HOME"])
    yield from _allocated(site, shlex.split(os.environ.get("LAUNCH_SITE_SALLOC", "--exclusive")))
    shutil.rmtree(shared)


def _allocated(site: Site, words: Sequence[str]) -> Iterator[Site]:
    done = site.run(["salloc", "--no-shell", "--nodes=2", "--job-name=rules", *words])
    found = re.search(r"Granted job allocation (\d+)", done.stderr)
    assert found is not None, done.stderr
    site.job = found[1]
    listed = site.run(["squeue", "--noheader", f"--jobs={site.job}", "--format=%N"]).stdout.strip()
    site.nodes = site.run(["scontrol", "show", "hostnames", listed]).stdout.split()
    try:
        yield site
    finally:
        site.run(["scancel", site.job])
