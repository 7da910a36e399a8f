"""Clients of registries, closed when their test has ended."""

import os
from pathlib import Path

from launcher.execute.images.logins import Logins
from launcher.execute.images.make import Maker
from launcher.execute.images.registry import Registry
from launcher.execute.images.store import Store
from launcher.execute.images.transport import Limits, Transport
from launcher.execute.world import Real
from launcher.images.reference import Reference, parse

DEFAULT = Limits()
OPEN: list[Registry] = []


def client(world: Real, limits: Limits = DEFAULT, cache: Path | None = None) -> Registry:
    """One that has the logins of `world`."""
    made = Registry(Transport(world, Logins(world.environ), limits=limits), cache)
    OPEN.append(made)
    return made


def named(host: str, rest: str) -> Reference:
    """What a registry has."""
    found = parse(f"{host}/{rest}")
    assert isinstance(found, Reference)
    return found


def stored(folder: Path, compressor: str = "zstd") -> Store:
    """A store in a folder, for somebody without logins."""
    world = Real({"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
    asked = client(world)
    return Store(world, folder, asked, Maker(world, asked, compressor))
