"""What the verbs of the store share: which one is meant, and what a failure is called."""

import argparse
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Literal

from launcher.cli import arguments
from launcher.cli.guard import Failed, Usage
from launcher.cli.terminal import Terminal
from launcher.execute.images import aliases, answers
from launcher.execute.images.failure import CODES, EXITS, Failure
from launcher.execute.images.make import USUAL, Maker
from launcher.execute.images.place import Job
from launcher.execute.images.registry import Registry
from launcher.execute.images.store import Store
from launcher.execute.world import Real
from launcher.images import reference
from launcher.images.reference import Reference
from launcher.model import sitepath
from launcher.model.site import Site
from launcher.run import account
from launcher.text.advice import option, typed


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
        name = error.args[0]
        raise Usage(
            f"`[store] path` names ${name}, which is not set", advice=f"set ${name}, or `--store FOLDER`"
        ) from error
    mode = 0o644 if own is None or own.group_readable else 0o600
    registry = answers.registry(frozenset(found.cluster.plain_http))
    by = " ".join(filter(None, (found.option, option("store", args.store or ""))))
    return Store(world, folder.absolute(), registry, _maker(args, found, registry, terminal), mode, terminal.note, by)


def _maker(args: argparse.Namespace, found: Site, registry: Registry, terminal: Terminal) -> Maker:
    world, own = Real(), found.cluster.store
    suffix: Literal[".sif", ".sqsh"] = ".sif" if found.cluster.runtime == "apptainer" else ".sqsh"
    by: Literal["layers", "enroot"] = getattr(args, "by", None) or "layers"
    if by == "enroot" and suffix == ".sif":
        raise Usage("enroot makes no `.sif` files", advice="leave `--with enroot` out: Apptainer makes them")
    slurm = own is not None and own.work == "slurm"
    # The name tells one job from all others: it is cancelled by it.
    job = Job(world, found.cluster, f"launch-import-{os.getpid()}-{os.uname().nodename}") if slurm else None
    return Maker(world, registry, own.compressor if own else USUAL, suffix, by, job, terminal.status)


@contextmanager
def interruptible() -> Iterator[None]:
    """TERM and hang-up end what is under way properly, as Ctrl-C does."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def definition(alias: str, found: Site) -> Usage:
    """What is said where an alias that is a definition is taken for one of a registry."""
    advice = f"{typed('images build', alias, found.option)} makes its file"
    return Usage(f"`{alias}` is a definition, no image of a registry", advice=advice)


def meant(word: str, found: Site, arch: str | None) -> Reference:
    """The registry reference that an alias, or the word itself, is. Raises Usage for what is none."""
    image = found.cluster.images.get(word)
    if image is not None and image.build is not None:
        raise definition(word, found)
    text = image.meant(arch) if image else word
    try:
        source = reference.parse(text or word)
    except ValueError as error:
        raise Usage(str(error), advice="`docker.io/library/python:3.12`, or an alias of the cluster") from error
    if not isinstance(source, Reference):
        raise Usage(f"`{source}` is no image of a registry", advice="a file is made from a registry's image")
    return source


def failed(failure: Failure, faulty: str = "image-absent") -> Failed:
    """The failure as what ends a verb; `faulty` is the code for what was done wrong."""
    code = faulty if failure.kind == "faulty" else CODES.get(failure.kind, "image-absent")
    return Failed(code, failure.message, failure.advice, EXITS.get(failure.kind, 4))


def size(count: float) -> str:
    """Bytes as people read them."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError
