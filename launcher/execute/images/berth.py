"""What a bake by Docker has while it lasts: a lock of this account's, and the container and the image that are called
after it. A bake that was killed leaves them; by the names whoever comes next knows them, by the lock that they are
nobody's any more. Names, for labels of a container would get into the image.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from launcher.execute import journal
from launcher.execute.held import Held, held
from launcher.execute.images.failure import Failure
from launcher.execute.images.store import PATIENCE
from launcher.execute.told import Told, unheard
from launcher.execute.world import World

_FOLDER = "baking"


@contextmanager
def berth(world: World, tag: str, what: str, told: Told = unheard) -> Iterator[str]:
    """The name of container and image of the one process of this account that bakes `tag`; others wait.

    Raises Failure and OSError.
    """
    lock = folder(world) / f"{tag}.lock"
    journal.make_root(lock.parent)
    try:
        with held(world, lock, what, PATIENCE, told):
            yield _name(lock)
    except Held as error:
        raise Failure("busy", f"`{tag}` is being made: {error}", "wait for it") from error


def clear(world: World, daemon: Any, *, dry: bool = False) -> Iterator[str]:
    """Takes away what bakes of this account and machine left that were killed, unless it is `dry`; yields their names.

    Raises Failure.
    """
    names = {_name(lock): lock for lock in folder(world).glob("*.lock")}
    if not names:
        return
    every = daemon.asked(lambda: daemon.api.containers(all=True))
    there = {name.lstrip("/") for each in every for name in each["Names"]}
    images = daemon.asked(lambda: daemon.api.images())
    there |= {name for each in images for tag in each.get("RepoTags") or () if (name := _local(tag)) in names}
    for name in sorted(there & names.keys()):
        with suppress(Held), held(world, names[name], "clearing up", 0.0):
            if not dry:
                remove(daemon, name)
            yield name


def remove(daemon: Any, name: str) -> None:
    """Takes the container and the image of that name away; what cannot be goes with the next that clears."""
    with suppress(Failure):
        daemon.asked(lambda: daemon.api.remove_container(name, force=True, v=True))
    with suppress(Failure):
        daemon.asked(lambda: daemon.api.remove_image(image(name), force=True))


def image(name: str) -> str:
    """What the image of a berth is called: as both Docker and podman leave it."""
    return f"localhost/{name}"


def folder(world: World) -> Path:
    """Where the locks are."""
    return journal.root(world).with_name(_FOLDER)


def _name(lock: Path) -> str:
    """Of another account, or another machine with the same home, it is another."""
    mark = hashlib.sha256(f"{os.uname().nodename}:{lock}".encode()).hexdigest()[:8]
    return f"launch-{lock.stem}-{mark}"


def _local(tag: str) -> str:
    """The name whose image has that tag."""
    return tag.removeprefix("localhost/").partition(":")[0]
