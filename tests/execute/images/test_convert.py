"""The program that makes image files on compute nodes, run as there: by the oldest Python, with nothing installed."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from launcher.execute import bundle
from launcher.execute.images import convert
from launcher.execute.images.convert import Order
from launcher.images import oci as documents
from launcher.images.oci import Manifest
from tests.execute.images.flat import squash
from tests.execute.images.test_flatten import EXAMPLE
from tests.testbed import oci
from tests.testbed.oci import Entry, Made

ROOT = Path(__file__).parents[3]


def order(made: Made, folder: Path, **more: Any) -> Path:
    """The order of an image whose blobs are in the folder, written down."""
    manifest = documents.read(made.manifest)
    assert isinstance(manifest, Manifest)
    for digest, body in made.blobs.items():
        (folder / digest.removeprefix("sha256:")).write_bytes(body)
    (folder / "convert.pyz").write_bytes(bundle.converter())
    whole = {"out": str(folder / "a.sqsh"), "compressor": "zstd", "added": (), "folders": (), **more}
    path = folder / "order.json"
    path.write_bytes(convert.dump(Order(layers=manifest.layers, blobs=str(folder), **whole)))
    return path


def ran(python: str, path: Path, programs: str) -> subprocess.CompletedProcess[str]:
    words = [python, "-I", str(path.with_name("convert.pyz")), str(path)]
    return subprocess.run(words, capture_output=True, text=True, env={"PATH": programs, "SLURMD_NODENAME": "n7"})


@pytest.mark.parametrize("compression", ["gzip", "zstd", "none"])
def test_the_same_bytes_as_here(python39: str, compression: Any, tmp_path: Path) -> None:
    made = oci.image(EXAMPLE, compression=compression)
    added, folders = (("etc/environment", "A=é\udcff\n"),), ("srv",)
    done = ran(python39, order(made, tmp_path, added=added, folders=folders), os.environ["PATH"])
    assert (done.returncode, done.stderr) == (0, "")
    assert [convert.layer(line) for line in done.stdout.splitlines()] == [1, 0]
    squash(made, tmp_path / "b.sqsh", added=added, folders=folders)
    assert (tmp_path / "a.sqsh").read_bytes() == (tmp_path / "b.sqsh").read_bytes()


def test_what_goes_wrong_is_told(python39: str, tmp_path: Path) -> None:
    hostile = order(oci.image([[Entry("../x", b"x")]]), tmp_path)
    done = ran(python39, hostile, os.environ["PATH"])
    found = convert.failure(done.stdout.splitlines()[-1])
    assert (done.returncode, done.stderr) == (convert.FAILED, "")
    assert found is not None
    assert (found.kind, found.message) == ("faulty", "a layer has the path `../x`, which leaves the image (on n7)")
    done = ran(python39, hostile, str(tmp_path))
    assert "no program here makes squashfs files" in str(convert.failure(done.stdout))
    zstd = order(oci.image(EXAMPLE, compression="zstd"), tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tar2sqfs").symlink_to(str(shutil.which("tar2sqfs")))
    done = ran(python39, zstd, str(tmp_path / "bin"))
    assert "has layers of zstd, and there is no program `zstd`" in str(convert.failure(done.stdout.splitlines()[-1]))
    (tmp_path / json.loads(zstd.read_bytes())["layers"][0][0].removeprefix("sha256:")).unlink()
    done = ran(python39, zstd, os.environ["PATH"])
    assert "no such file" in str(convert.failure(done.stdout.splitlines()[-1]))


def test_make_check_knows_its_modules() -> None:
    text = (ROOT / "Makefile").read_text().replace("\\\n", "")
    named = next(line for line in text.splitlines() if line.startswith("CONVERTER :="))
    assert named.partition("%.py,")[2].rstrip(")").split() == list(bundle.CONVERTER)


@pytest.mark.parametrize("line", ["", "null", "[]", '{"failure": 1}', '{"layer": null}', "srun: job 7 queued"])
def test_other_lines_are_nothing(line: str) -> None:
    assert (convert.failure(line), convert.layer(line)) == (None, None)
