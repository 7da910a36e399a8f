"""What the verbs of the store share: which one is meant, and what a failure is called."""

import argparse
from pathlib import Path

from launcher.cli import arguments
from launcher.cli.guard import Failed, Usage
from launcher.cli.terminal import Terminal
from launcher.execute.images import aliases, answers
from launcher.execute.images.failure import Failure
from launcher.execute.images.store import Store
from launcher.execute.world import Real
from launcher.images import reference
from launcher.images.reference import Reference
from launcher.model import sitepath
from launcher.model.site import Site
from launcher.run import account

EXITS = {"full": 1, "busy": 1}
"""What is wrong with this machine rather than with an image."""

_CODES = {
    "full": "store-full",
    "busy": "image-busy",
    "platform": "image-of-other-nodes",
    "unreachable": "image-unseen",
    "limited": "image-unseen",
    "offline": "image-unseen",
}


def site(args: argparse.Namespace) -> Site:
    """The cluster asked for."""
    name, place = arguments.chosen(args)
    return aliases.read(name, place)


def store(args: argparse.Namespace, found: Site, terminal: Terminal) -> Store:
    """The store of the cluster, or the one that is named. Raises Usage where there is none."""
    world, own = Real(), found.cluster.store
    if args.store is None and own is None:
        advice = "say `[store] path` in the cluster file, or `--store FOLDER`"
        raise Usage(f"cluster `{found.cluster.name}` has no image store", advice=advice)
    try:
        folder = Path(args.store or sitepath.expand(own.path if own else "", account.known(world.environ)))
    except KeyError as error:
        raise Usage(f"`[store] path` names ${error.args[0]}, which is not set") from error
    mode = 0o644 if own is None or own.group_readable else 0o600
    registry = answers.registry(frozenset(found.cluster.plain_http))
    compressor = own.compressor if own else "zstd"
    made = Store(world, folder.absolute(), registry, compressor, mode, told=terminal.note, progress=terminal.status)
    made.suffix = ".sif" if found.cluster.runtime == "apptainer" else ".sqsh"
    return made


def meant(word: str, found: Site, arch: str | None) -> Reference:
    """The registry reference that an alias, or the word itself, is. Raises Usage for what is none."""
    image = found.cluster.images.get(word)
    text = image.meant(arch) if image else word
    try:
        source = reference.parse(text or word)
    except ValueError as error:
        raise Usage(str(error)) from error
    if not isinstance(source, Reference):
        raise Usage(f"`{source}` is no image of a registry", advice="a file is made from a registry's image")
    return source


def failed(failure: Failure) -> Failed:
    """The failure as what ends a verb."""
    code = _CODES.get(failure.kind, "image-absent")
    return Failed(code, failure.message, failure.advice, EXITS.get(failure.kind, 4))


def size(count: float) -> str:
    """Bytes as people read them."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError
