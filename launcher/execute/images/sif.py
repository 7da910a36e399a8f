"""A `.sif` out of an image whose layers are here: Apptainer builds it, told by spython.

Facts, of Apptainer 1.4.5: `oci:FOLDER` is the one image of an OCI layout, so the layers are fetched as for any other
file and Apptainer needs no login. Temporary files go where the image goes: `/tmp` is often too small.
"""

import json
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from launcher.execute.images.failure import Failure, full, roomless
from launcher.execute.world import World
from launcher.images import look, oci
from launcher.images.importing import SQUASH
from launcher.images.sif import SQUASHING
from launcher.run import files

BLOBS = "blobs/sha256"
"""Where the blobs of an OCI layout are."""

_NAME = "image"


PROGRAMS = ("apptainer", "singularity")


def program(world: World) -> str | None:
    """The one that is here."""
    path = world.environ.get("PATH", "")
    return next((name for name in PROGRAMS if shutil.which(name, path=path)), None)


def build(world: World, layout: Path, out: Path, compressor: str) -> None:
    """Builds `out` from the image of an OCI layout. Raises Failure and OSError."""
    name = program(world)
    if name is None:
        raise Failure("faulty", "no program here builds SIF files", "install Apptainer, or put it on `PATH`")
    # One that outlives us goes on with a file of its own.
    own = layout / f"{secrets.token_hex(6)}.sif"
    env = {**world.environ, **variables(layout, compressor)}
    # spython takes as long to import as all the rest of a command.
    spython = import_module("spython.utils")
    done = spython.run_command(words(name, layout, own), capture=True, quiet=True, environ=env)
    check(done["return_code"], "".join(done["message"]), layout)
    own.replace(out)


def words(name: str, layout: Path, out: Path) -> list[str]:
    """The command."""
    return [name, "--quiet", "build", "--force", str(out), f"oci:{layout}"]


def variables(layout: Path, compressor: str) -> dict[str, str]:
    """Of its environment."""
    places = {"APPTAINER_TMPDIR": str(layout), "APPTAINER_CACHEDIR": str(layout / "cache")}
    return {**places, SQUASHING: SQUASH[compressor]}


def check(status: int, said: str, folder: Path) -> None:
    """Raises Failure where it failed; `folder` is what it wrote to."""
    text = "; ".join(said.strip().splitlines()[-3:])
    if status != 0 and roomless(said, folder):
        raise full(folder, text)
    if status != 0:
        raise Failure("faulty", f"Apptainer could not build the image: {text}")


@dataclass(frozen=True)
class Inspected:
    """What a SIF says of itself: `env` are `NAME=VALUE`."""

    env: tuple[str, ...]
    labels: Mapping[str, str]


def inspect(world: World, path: Path) -> Inspected | None:
    """By Apptainer, told by spython; None where it is not here, or cannot read the file."""
    name = program(world)
    if name is None:
        return None
    command = [name, "inspect", "--json", "--labels", "--environment", str(path)]
    done = import_module("spython.utils").run_command(command, capture=True, quiet=True, environ=dict(world.environ))
    try:
        told = json.loads("".join(done["message"]))["data"]["attributes"]
    except (ValueError, KeyError, TypeError):
        return None
    texts = [(path.lstrip("/"), str(text)) for path, text in (told.get("environment") or {}).items()]
    labels = {str(key): str(value) for key, value in (told.get("labels") or {}).items()}
    return Inspected(look.environment(texts), labels)


def arrange(folder: Path, documents: tuple[bytes, bytes]) -> None:
    """Makes the folder of layers an OCI layout by these, manifest and configuration. Raises OSError."""
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
