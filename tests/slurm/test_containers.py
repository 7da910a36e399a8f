"""An engine in containers, as the launcher will run it: Python in both runtimes, a preamble that installs, a router."""

import json
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.testbed import apptainer, image, plugin
from tests.testbed.bed import Bed, until
from tests.testbed.image import Image
from tests.testbed.layout import Layout
from tests.testbed.slurm import bed as started

SIM = ("python3", "-m", "launcher.sim")
ENTER = (
    'set -e\npip install --quiet --no-index --find-links /launch/wheels {}\nexport SETUP="a \'b\' {{c}}"\nexec "$@"\n'
)
MEGABYTES = 101


@pytest.fixture(scope="module")
def site() -> Iterator[Bed]:
    """Two nodes with addresses of their own, with both container runtimes, and a job that has both nodes."""
    programs = {"enroot": plugin.ENROOT, "apptainer": apptainer.apptainer()}
    with started(Layout(nodes=2, networks=("eth0",)), plugin.plugin(), programs) as running:
        job = running.submit("#!/bin/sh\nexec sleep 3600\n", "--nodes=2", "--exclusive", "--gpus-per-node=8")
        running.wait(job, "RUNNING")
        yield running


@pytest.fixture(scope="module")
def run(site: Bed) -> Path:
    """A run directory with a preamble and a wheel of more than 100 MB for it to install."""
    folder = site.shared / "run"
    for name in ("wheels", "setup", "logs"):
        (folder / name).mkdir(parents=True)
    folder.chmod(0o777)
    for name, size in {"heavy": MEGABYTES, "light": 0}.items():
        (folder / f"setup/{name}.sh").write_text(ENTER.format(name))
        wheel(folder / "wheels", name, size)
    return folder


def wheel(folder: Path, name: str, size: int) -> None:
    """A wheel with one file of `size` megabytes."""
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}/__init__.py": "SIZE = __import__('pathlib').Path(__file__).with_name('weights').stat().st_size\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file, text in files.items():
            archive.writestr(file, text)
        archive.writestr(f"{name}/weights", bytes(size << 20))
        names = [*files, f"{name}/weights", f"{info}/RECORD"]
        archive.writestr(f"{info}/RECORD", "".join(f"{file},,\n" for file in names))


def words(runtime: str, run: Path, which: Image = image.ENGINE, *, write: bool = False) -> list[str]:
    """The container's words of a step, for each runtime."""
    if runtime == "pyxis":
        return [
            f"--container-image={image.squashfs(which)}",
            "--container-writable" if write else "--container-readonly",
            f"--container-mounts={run}:/launch",
            "--container-workdir=/",
            "--no-container-remap-root",
            "--",
        ]
    own = ["--fakeroot", "--overlay", f"{run}/over"] if write else []
    inside = ["apptainer", "--quiet", "exec", "--no-eval", "--no-home", "--cleanenv", "--pwd", "/", *own]
    return ["--", *inside, "--bind", f"{run}:/launch", str(apptainer.sif(which))]


def step(site: Bed, node: str) -> list[str]:
    (job,) = site.jobs()
    where = [f"--jobid={job}", "--overlap", "--nodes=1", "--ntasks=1", f"--nodelist={node}"]
    return ["srun", *where, "--input=none", "--mpi=none", "--cpu-bind=none", "--unbuffered"]


RUNTIMES = ("pyxis", "apptainer")


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_python_step(site: Bed, run: Path, runtime: str) -> None:
    line = "import sys, launcher.sim, ssl; print(sys.prefix)"
    done = site.run([*step(site, "node1"), *words(runtime, run), "python3", "-c", line])
    assert (done.returncode, done.stdout) == (0, "/usr/local\n"), done.stderr


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_preamble_installs_a_heavy_package_as_an_ordinary_user(site: Bed, run: Path, runtime: str) -> None:
    (run / "over").mkdir(exist_ok=True)
    site.run(["chown", "alice", str(run / "over")], user="root")
    line = "import os, heavy; print(heavy.SIZE, os.environ['SETUP'])"
    inner = ["sh", "/launch/setup/heavy.sh", "python3", "-c", line]
    done = site.run([*step(site, "node1"), *words(runtime, run, write=True), *inner], timeout=120)
    assert (done.returncode, done.stdout) == (0, f"{MEGABYTES << 20} a 'b' {{c}}\n"), done.stderr


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_preamble_cannot_install_in_a_read_only_root(site: Bed, run: Path, runtime: str) -> None:
    inner = ["sh", "/launch/setup/light.sh", "true"]
    done = site.run([*step(site, "node1"), *words(runtime, run), *inner], timeout=120)
    assert done.returncode == 1
    assert "Read-only file system" in done.stderr or "Permission denied" in done.stderr


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_worker_and_router_answer_a_client_on_another_node(site: Bed, run: Path, runtime: str) -> None:
    worker = [*SIM, "--host", "0.0.0.0", "--port", "8001"]
    router = ["smg", "launch", "--host", "0.0.0.0", "--port", "8000", "--worker-urls", "http://10.77.0.101:8001"]
    url = "http://10.77.0.102:8000/v1/completions"
    ask = (
        "import json, urllib.request as r\n"
        f"q = r.Request({url!r}, json.dumps(dict(model='sim', prompt='hi', max_tokens=3)).encode(), "
        "{'Content-Type': 'application/json'})\nprint(r.urlopen(q, timeout=5).read().decode())"
    )
    first = [*step(site, "node1"), *words(runtime, run), *worker]
    second = [*step(site, "node2"), *words(runtime, run, image.ROUTER), *router]
    client = [*step(site, "node1"), "--", "/usr/bin/python3", "-c", ask]
    with running(site, first, run / "worker.log"):
        # A router that finds no worker at its start looks again after 30 s.
        until(lambda: "speaks" in (run / "worker.log").read_text() or None, 60)
        with running(site, second, run / "router.log") as router_step:

            def answer() -> str | None:
                assert router_step.poll() is None
                done = site.run(client)
                return done.stdout if done.returncode == 0 else None

            found = json.loads(until(answer, 60, 0.2))
    assert found["choices"][0]["text"]


@contextmanager
def running(site: Bed, argv: list[str], log: Path) -> Iterator[subprocess.Popen[str]]:
    """A step that is ended with the context; what it printed is in `log`, and shown where the context fails."""
    with log.open("w") as output, site.start(argv, stdout=output, stderr=output) as process:
        try:
            yield process
        except AssertionError as error:
            error.add_note(log.read_text()[-2000:])
            raise
        finally:
            process.terminate()
