"""Image files made in small jobs: `[store] work = "slurm"` on a real Slurm."""

import json
import signal
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.execute.images import inspect
from tests.slurm.deployment import CLUSTER, LAUNCH, Site
from tests.slurm.test_image_store import layer
from tests.testbed import apptainer, image, oci, plugin, registry
from tests.testbed.bed import Bed, until
from tests.testbed.layout import Layout
from tests.testbed.oci import Entry
from tests.testbed.registry import Served
from tests.testbed.slurm import bed as started

CONFIG = {"Env": ["PATH=/opt/image/bin:/usr/bin:/bin", "COMMON=ours"], "WorkingDir": "/srv/work"}
STORE = """
[store]
path = "{folder}/store"
work = "slurm"
[store.job]
partition = "batch"
cpus = 2
memory = "2G"
"""


@pytest.fixture(scope="module")
def place() -> Iterator[Bed]:
    """Two nodes with GPUs, the stand-ins for pyxis and enroot, and Apptainer."""
    programs = {"enroot": plugin.ENROOT, "apptainer": apptainer.apptainer()}
    with started(Layout(nodes=2), plugin.plugin(), programs) as running:
        yield running


@pytest.fixture(scope="module")
def served(place: Bed) -> Iterator[Served]:
    """A registry that login and compute nodes reach."""
    folder = place.root / "registry"
    folder.mkdir()
    with registry.registry(folder) as outside:
        push = outside.pusher.push
        whole: list[list[Entry] | bytes] = [layer(image.root(image.TINY)), [Entry("etc/greeting", b"hello\n")]]
        both = [oci.image(whole, arch=arch, config=CONFIG, dialect="docker") for arch in ("amd64", "arm64")]
        push("j/tiny", "1", *both, dialect="docker")
        push("j/hostile", "1", oci.image([[Entry("../x", b"x")]]))
    with place.start(["docker-registry", "serve", str(folder / "config.yml")], user="root") as running:
        until(lambda: place.run(["curl", "-sf", f"http://{outside.host}/v2/"]).returncode == 0 or None)
        yield outside
        running.terminate()


@pytest.fixture
def site(place: Bed, served: Served) -> Iterator[Site]:
    made = Site(place, CLUSTER.replace('runtime = "none"', 'runtime = "pyxis"').replace('interface = "hsn0"\n', ""))
    rewrite(made, "[images]", f'[images]\ntiny = "{served.host}/j/tiny:1"\nhostile = "{served.host}/j/hostile:1"')
    made.file.write_text(made.file.read_text() + STORE.format(folder=made.folder))
    yield made
    place.clear()


def rewrite(site: Site, old: str, new: str) -> None:
    text = site.file.read_text()
    assert old in text
    site.file.write_text(text.replace(old, new))


def ours(site: Site) -> dict[int, str]:
    """The jobs that make images: id → state."""
    lines = site.bed.ask("squeue", "--noheader", "--states=all", "--format=%A %T %j").splitlines()
    return {int(line.split()[0]): line.split()[1] for line in lines if line.split()[2].startswith("launch-import-")}


def slow(site: Site, seconds: int) -> None:
    """The nodes' Python takes its time."""
    path = site.write("python", f'#!/bin/sh\nsleep {seconds}\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)
    rewrite(site, f'python = "{sys.executable}"', f'python = "{path}"')


@pytest.mark.parametrize("words", [(), ("--with", "enroot")])
def test_a_job_without_gpus_makes_it(site: Site, words: tuple[str, ...]) -> None:
    before = set(ours(site))
    path = site.launch("images", "ensure", "tiny", "--arch", "x86_64", "--print-path", *words).stdout.strip()
    assert inspect.file(Path(path)).header.compressor == "zstd"
    assert sorted(each.suffix for each in Path(path).parent.iterdir()) == [".json", ".lock", ".sqsh"]
    (*others, job) = sorted(set(ours(site)) - before)
    assert len(others) == (1 if words else 0)  # one that asked enroot's version
    shown = site.bed.show(job)
    assert (shown["Partition"], shown["NumNodes"], shown["NumCPUs"]) == ("batch", "1", "2")
    assert "gpu" not in json.dumps(shown).lower().replace("/gpu", "")
    done = site.bed.srun("--nodes=1", f"--container-image={path}", "sh", "-c", 'cat /etc/greeting; echo "$COMMON"')
    assert done.stdout.split()[:1] == ["hello"], done.stderr
    if not words:
        assert done.stdout.split() == ["hello", "ours"]
        other = str(site.folder / "here")
        rewrite(site, 'work = "slurm"', 'work = "login"')
        here = site.launch("images", "ensure", "tiny", "--arch", "x86_64", "--print-path", "--store", other)
        assert Path(here.stdout.strip()).read_bytes() == Path(path).read_bytes()


def test_a_sif_too(site: Site) -> None:
    rewrite(site, 'runtime = "pyxis"', 'runtime = "apptainer"\narch = "x86_64"')
    path = site.launch("images", "ensure", "tiny", "--print-path").stdout.strip()
    found = inspect.file(Path(path))
    assert (found.header.kind, found.header.arch) == ("sif", "x86_64")
    assert sorted(each.suffix for each in Path(path).parent.iterdir()) == [".json", ".lock", ".sif"]
    assert "makes no `.sif` files" in site.launch("images", "pull", "--with", "enroot", status=2).stderr


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("state", ["PENDING", "RUNNING"])
def test_an_interruption_cancels_the_job(site: Site, number: signal.Signals, status: int, state: str) -> None:
    if state == "PENDING":
        site.bed.wait(site.bed.submit("#!/bin/sh\nsleep 600\n", "--nodes=2", "--exclusive", user="user"), "RUNNING")
    else:
        slow(site, 600)
    with site.begin("images", "ensure", "tiny", "--arch", "x86_64") as running:
        job = until(lambda: next((job for job, found in ours(site).items() if found == state), None))
        running.send_signal(number)
        assert running.wait(timeout=60) == status
    assert site.bed.wait(job) in ("CANCELLED", "FAILED")  # a step that was killed fails
    assert not list((site.folder / "store").glob("*.sqsh"))
    site.bed.clear()
    if state == "RUNNING":
        rewrite(site, str(site.folder / "python"), sys.executable)
    site.launch("images", "ensure", "tiny", "--arch", "x86_64")


def test_a_job_outlives_us_and_is_waited_for(site: Site) -> None:
    slow(site, 4)
    with site.begin("images", "ensure", "tiny", "--arch", "x86_64") as running:
        until(lambda: "RUNNING" in ours(site).values() or None)
        running.send_signal(signal.SIGKILL)
    done = site.launch("images", "ensure", "tiny", "--arch", "x86_64", "--print-path")
    assert f"waiting for process {running.pid} of alice@login, importing j/tiny:1" in done.stderr
    assert inspect.file(Path(done.stdout.strip()))
    assert sorted(each.suffix for each in (site.folder / "store").iterdir()) == [".json", ".lock", ".sqsh"]


def test_failures_are_told(site: Site) -> None:
    words = ("images", "ensure", "hostile", "--arch", "x86_64")
    assert "which leaves the image (on node" in site.launch(*words, status=4).stderr
    rewrite(site, 'partition = "batch"', 'partition = "bach"')
    done = site.launch(*words, status=5)
    assert "error[slurm-refused]: the job that makes the image failed: " in done.stderr
    assert "invalid partition" in done.stderr
    assert "`sinfo` lists the partitions" in done.stderr
    rewrite(site, 'partition = "bach"', 'partition = "batch"')
    slow(site, 600)
    with site.begin(*words) as running:
        job = until(lambda: next((job for job, found in ours(site).items() if found == "RUNNING"), None))
        site.bed.ask("scancel", str(job))
        assert running.wait(timeout=60) == 5
        assert running.stderr is not None
        assert "the job that makes the image was cancelled" in running.stderr.read()
    away = ["env", f"PATH={Path(sys.executable).parent}", f"LAUNCH_CLUSTER={site.file}", LAUNCH, *words]
    done = site.bed.run(away)
    assert (done.returncode, "`srun` cannot be run" in done.stderr) == (5, True)


def test_a_file_that_only_nodes_see_is_locked(site: Site) -> None:
    whole = image.squashfs(image.TINY)
    site.bed.srun("--nodes=2", "cp", str(whole), "/tmp/only.sqsh")
    rewrite(site, "[images]", '[images]\nonly = { reference = "/tmp/only.sqsh", where = "compute" }')
    rewrite(site, 'runtime = "pyxis"', 'runtime = "pyxis"\narch = "x86_64"')
    words = ("--lock", str(site.folder / "launch.lock"))
    site.launch("images", "lock", "only", *words)
    (row,) = tomllib.loads((site.folder / "launch.lock").read_text())["image"]
    assert (row["alias"], row["size"], "sha256" in row) == ("only", whole.stat().st_size, False)
    assert site.launch("images", "verify", *words).stderr == "all as locked\n"
    site.bed.srun("--nodes=2", "sh", "-c", "rm -f /tmp/only.sqsh")
    assert "does not exist on the compute nodes" in site.launch("images", "verify", *words, status=4).stderr


def test_in_an_allocation_it_is_a_step(site: Site) -> None:
    job = site.bed.submit("#!/bin/sh\nsleep 600\n", "--nodes=1", "--exclusive")
    site.bed.wait(job, "RUNNING")
    before = ours(site)
    site.launch("images", "ensure", "tiny", "--arch", "x86_64", env={"SLURM_JOB_ID": str(job)})
    assert ours(site) == before
