"""A `.sif` out of an image whose layers are here: Apptainer builds it, told by spython.

Facts, of Apptainer 1.4.5: `oci:FOLDER` is the one image of an OCI layout, so the layers are fetched as for any other
file and Apptainer needs no login. Temporary files go where the image goes: `/tmp` is often too small.
"""

import json
import shutil
from importlib import import_module
from pathlib import Path

from launcher.execute.images.failure import Failure
from launcher.execute.world import World
from launcher.images import oci
from launcher.run import files

BLOBS = "blobs/sha256"
"""Where the blobs of an OCI layout are."""

_NAME = "image"


def build(world: World, layout: Path, out: Path, documents: tuple[bytes, bytes]) -> None:
    """Builds `out` from the layers in `layout` and these, manifest and configuration. Raises Failure and OSError."""
    program = next((name for name in ("apptainer", "singularity") if _which(world, name)), None)
    if program is None:
        raise Failure("faulty", "no program here builds SIF files", "install Apptainer, or put it on `PATH`")
    _layout(layout, documents)
    words = [program, "--quiet", "build", "--force", str(out), f"oci:{layout}"]
    env = {**world.environ, "APPTAINER_TMPDIR": str(out.parent), "APPTAINER_CACHEDIR": str(layout / "cache")}
    # spython takes as long to import as all the rest of a command.
    done = import_module("spython.utils").run_command(words, capture=True, quiet=True, environ=env)
    if done["return_code"] != 0:
        lines = "".join(done["message"]).strip().splitlines()
        raise Failure("faulty", f"Apptainer could not build `{out.name}`: {'; '.join(lines[-3:])}")


def _which(world: World, name: str) -> str | None:
    return shutil.which(name, path=world.environ.get("PATH", ""))


def _layout(folder: Path, documents: tuple[bytes, bytes]) -> None:
    for body in documents:
        files.write(str(folder / BLOBS / oci.digest(body).removeprefix("sha256:")), body)
    manifest = documents[0]
    kind = json.loads(manifest).get("mediaType", oci.MANIFESTS[0])
    entry = {
        "mediaType": kind,
        "digest": oci.digest(manifest),
        "size": len(manifest),
        "annotations": {"org.opencontainers.image.ref.name": _NAME},
    }
    files.write(str(folder / "oci-layout"), b'{"imageLayoutVersion": "1.0.0"}')
    files.write(str(folder / "index.json"), json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode())
