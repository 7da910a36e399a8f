"""What builds begin with where no registry of the internet is asked: bases in a registry of our own, and wheels."""

import io
import subprocess
import sys
import tarfile
from pathlib import Path

from tests.testbed import cache, image, oci
from tests.testbed.image import Image
from tests.testbed.registry import Served

PYTHON = Image("python_base", python=True, distributions=("pip",))
"""A shell, Python and pip: what Docker Hub's `python:3.12-slim` is to the definitions that are shipped."""

DEBIAN = Image("debian_base")
"""A shell: what Docker Hub's `debian:bookworm-slim` is to them."""

_LIBRARIES = (
    *("libdl.so.2", "librt.so.1", "libpthread.so.0", "libm.so.6", "libgcc_s.so.1", "libutil.so.1"),
    "libstdc++.so.6",  # of both images: apt of Debian 12 depends on it
)

PATH = "PATH=/usr/local/bin:/usr/bin:/bin"


def pushed(served: Served, which: Image, name: str = "base", tag: str = "1") -> str:
    """The image in the registry; its reference."""
    layers = [layer(image.root(which)), *([libraries()] if which in (DEBIAN, PYTHON) else [])]
    # Without a line of history for each layer podman does not build upon it.
    history = ["made by hand"] * len(layers)
    made = oci.image(layers, config={"Env": [PATH]}, dialect="docker", history=history)
    served.pusher.push(name, tag, made, dialect="docker")
    return f"{served.host}/{name}:{tag}"


def layer(root: Path) -> bytes:
    """A folder as a layer, all of it root's own."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.add(root, ".")
    return buffer.getvalue()


def libraries() -> bytes:
    """A layer with what every wheel may count on (PEP 600), and Envoy does: our images have what is in them needs."""
    folder = next(Path("/usr/lib").glob("*-linux-gnu/libc.so.6")).parent
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT, dereference=True) as archive:
        for name in _LIBRARIES:
            archive.add(folder / name, f"usr/lib/{folder.name}/{name}")
    return buffer.getvalue()


def wheels(*requirements: str) -> Path:
    """A folder of wheels with what the requirements want, fetched by this machine's pip as it is set up."""

    def fetch(place: Path) -> None:
        words = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest", str(place)]
        done = subprocess.run([*words, *requirements], capture_output=True, text=True)
        if done.returncode:
            message = f"pip could not fetch {' '.join(requirements)}: {done.stderr[-2000:]}"
            raise RuntimeError(message)
        place.chmod(0o755)

    return cache.made(f"wheels_{requirements[0].partition('=')[0]}", [sys.version, *requirements], fetch)
