"""A `.sif` built by the real Apptainer from a registry's image, and what is said where it cannot."""

import os
import subprocess
from pathlib import Path

import pytest

from launcher.execute.images.failure import Failure
from launcher.execute.images.inspect import inspect
from launcher.execute.images.make import Maker
from launcher.execute.images.store import Store
from launcher.execute.world import Real
from tests.execute.images.clients import client, named
from tests.slurm.test_image_store import layer
from tests.testbed import apptainer, image, oci
from tests.testbed.registry import Served


@pytest.mark.parametrize(("dialect", "compression"), [("oci", "gzip"), ("docker", "gzip"), ("oci", "zstd")])
def test_built_and_run(served: Served, tmp_path: Path, dialect: str, compression: str) -> None:
    config = {"Env": ["PATH=/opt/image/bin:/usr/bin:/bin", "COMMON=ours"], "WorkingDir": "/srv"}
    layers = [layer(image.root(image.TINY)), [oci.Entry("etc/greeting", b"hello\n")]]
    made = oci.image(layers, config=config, dialect=dialect, compression=compression)  # type: ignore[arg-type]
    served.pusher.push("sif/tiny", compression + dialect, made)
    program = apptainer.apptainer()
    world = Real({**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)})
    asked = client(world)
    wanted = named(served.host, f"sif/tiny:{compression}{dialect}")
    path = Store(world, tmp_path / "store", asked, Maker(world, asked, suffix=".sif")).ensure(wanted, "x86_64")
    found = inspect(Real(), path, ("bash", "greet"))
    assert (found.arch, found.programs) == ("x86_64", ("bash", "greet"))
    assert sorted(each.suffix for each in path.parent.iterdir()) == [".json", ".lock", ".sif"]
    words = [str(program), "exec", "--userns", str(path), "sh", "-c", 'cat /etc/greeting; echo "$COMMON"; greet']
    done = subprocess.run(words, capture_output=True, text=True, env={"PATH": world.environ["PATH"], "HOME": "/"})
    assert done.stdout.split() == ["hello", "ours", "greetings"], done.stderr


def test_without_apptainer_it_is_said(served: Served, tmp_path: Path) -> None:
    served.pusher.push("sif/none", "1", oci.image([[oci.Entry("a")]]))
    world = Real({"PATH": str(tmp_path), "HOME": str(tmp_path)})
    asked = client(world)
    made = Store(world, tmp_path / "store", asked, Maker(world, asked, suffix=".sif"))
    with pytest.raises(Failure, match="no program here builds SIF files"):
        made.ensure(named(served.host, "sif/none:1"), "x86_64")
