"""Builds the stand-in for pyxis."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.testbed import cache
from tests.testbed.place import SYSTEM, missing
from tests.testbed.slurm import version

SOURCE = Path(__file__).with_name("pyxis")
ENROOT = SOURCE / "enroot"
"""The program that lists and removes the stand-in's roots, as users of a site with pyxis have it."""

_PROGRAMS = {"gcc": "gcc", "unsquashfs": "squashfs-tools", "bash": "bash"}
_FLAGS = ("-std=gnu17", "-O1", "-Wall", "-Wextra", "-shared", "-fPIC")


def plugin() -> Path:
    """The file of the built plugin, called as the real one is. Raises RuntimeError where it cannot be built."""
    lacking = missing(_PROGRAMS)
    if not Path("/usr/include/slurm/spank.h").exists():
        lacking.append("libslurm-dev")
    if lacking:
        message = f"the stand-in for pyxis needs Debian's packages {' '.join(lacking)}"
        raise RuntimeError(message)
    return cache.made("spank_pyxis", [version(), *_FLAGS, *cache.text(SOURCE, "*.[ch]")], _build) / "spank_pyxis.so"


def _build(folder: Path) -> None:
    folder.mkdir()
    sources = sorted(map(str, SOURCE.glob("*.c")))
    words = ["gcc", *_FLAGS, f"--output={folder}/spank_pyxis.so", *sources]
    subprocess.run([word.replace("--output=", "-o") for word in words], check=True, env={"PATH": SYSTEM})


def registry(images: Mapping[str, Path]) -> Path:
    """A folder that stands for registries, for the plugin's `registry=`: `HOST/IMAGE:TAG` → its `.sqsh`."""

    def fill(folder: Path) -> None:
        for reference, file in images.items():
            place = folder / f"{reference.replace(':', '/')}.sqsh"
            place.parent.mkdir(parents=True)
            place.symlink_to(file)

    return cache.made("registry", [sorted(images.items())], fill)
