"""A `.sif` built by the real Apptainer from a registry's image, and what is said where it cannot."""

import os
import subprocess
from pathlib import Path

import pytest

from launcher.execute.images.failure import Failure
from launcher.execute.images.inspect import file, inspect
from launcher.execute.images.make import Maker
from launcher.execute.images.store import Store
from launcher.execute.world import Real
from launcher.images.sif import SQUASHING
from tests.execute.images.clients import client, named
from tests.slurm.test_image_store import layer
from tests.testbed import apptainer, image, oci
from tests.testbed.registry import Served


@pytest.mark.parametrize(
    ("dialect", "compression", "packed"), [("oci", "gzip", "zstd"), ("docker", "gzip", "lz4"), ("oci", "zstd", "gzip")]
)
def test_built_and_run(served: Served, tmp_path: Path, dialect: str, compression: str, packed: str) -> None:
    config = {"Env": ["PATH=/opt/image/bin:/usr/bin:/bin", "COMMON=ours"], "WorkingDir": "/srv"}
    layers = [layer(image.root(image.TINY)), [oci.Entry("etc/greeting", b"hello\n")]]
    made = oci.image(layers, config=config, dialect=dialect, compression=compression)  # type: ignore[arg-type]
    served.pusher.push("sif/tiny", compression + dialect, made)
    program = apptainer.apptainer()
    world = Real({**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)})
    asked = client(world)
    wanted = named(served.host, f"sif/tiny:{compression}{dialect}")
    path = Store(world, tmp_path / "store", asked, Maker(world, asked, packed, ".sif")).ensure(wanted, "x86_64")
    found = inspect(Real(), path, ("bash", "greet"))
    assert (found.arch, found.programs) == ("x86_64", ("bash", "greet"))
    assert (file(path).header.compressor, path.stem.endswith(f"-{packed}")) == (packed, packed != "zstd")
    assert sorted(each.suffix for each in path.parent.iterdir()) == [".json", ".lock", ".sif"]
    words = [str(program), "exec", "--userns", str(path), "sh", "-c", 'cat /etc/greeting; echo "$COMMON"; greet']
    done = subprocess.run(words, capture_output=True, text=True, env={"PATH": world.environ["PATH"], "HOME": "/"})
    assert done.stdout.split() == ["hello", "ours", "greetings"], done.stderr


def test_an_apptainer_that_takes_no_compressor(served: Served, tmp_path: Path) -> None:
    """As those before 1.4, which do not know the variable: it is told."""
    served.pusher.push("sif/older", "1", oci.image([[oci.Entry("bin/sh", b"#", mode=0o755)]]))
    older, told = tmp_path / "bin/apptainer", list[str]()
    older.parent.mkdir()
    older.write_text(f'#!/bin/sh\nunset {SQUASHING}\nexec {apptainer.apptainer()} "$@"\n')
    older.chmod(0o755)
    world = Real({**os.environ, "PATH": f"{older.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)})
    asked = client(world)
    made = Store(world, tmp_path / "store", asked, Maker(world, asked, suffix=".sif"), told=told.append)
    path = made.ensure(named(served.host, "sif/older:1"), "x86_64")
    said = f"`{path.name}` is compressed by gzip: Apptainer heeds `[store] compressor`, zstd, since 1.4"
    assert told == [said]


def test_without_apptainer_it_is_said(served: Served, tmp_path: Path) -> None:
    served.pusher.push("sif/none", "1", oci.image([[oci.Entry("a")]]))
    world = Real({"PATH": str(tmp_path), "HOME": str(tmp_path)})
    asked = client(world)
    made = Store(world, tmp_path / "store", asked, Maker(world, asked, suffix=".sif"))
    with pytest.raises(Failure, match="no program here builds SIF files"):
        made.ensure(named(served.host, "sif/none:1"), "x86_64")
