"""Definitions built: by Docker or what speaks as it does, from layers without it, or by Apptainer."""

import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from launcher.execute.definitions import files
from launcher.execute.images import remains, saved
from launcher.execute.images.assemble import Assembly
from launcher.execute.images.built import Built
from launcher.execute.images.failure import Failure
from launcher.execute.images.registry import Registry, Remote
from launcher.execute.images.room import writing
from launcher.execute.images.store import Store
from launcher.execute.told import Told, unheard
from launcher.execute.world import World
from launcher.images import building
from launcher.images.building import Upon
from launcher.images.containerfile import arguments
from launcher.images.reference import Daemon as DaemonImage
from launcher.images.reference import Reference, parse
from launcher.model.definition import CONTAINERFILE, Definition

Builder = Literal["docker", "layers", "apptainer"]

WHEELS = "wheels"
OFFLINE = {"PIP_NO_INDEX": "1"}
"""What a build with wheels of its own is told."""


@dataclass(frozen=True)
class Base:
    """The base of a build: `word` is what a builder is told, `remote` what the registry has of it."""

    word: str
    upon: Upon
    reference: Reference | None = None
    remote: Remote | None = None


@dataclass(frozen=True)
class Order:
    """One image to build. `wheels` is a folder of what pip is to install, instead of what an index has."""

    definition: Definition
    folder: Path
    arch: str
    builder: Builder
    wheels: Path | None = None
    network: str | None = None
    fresh: bool = False

    @property
    def key(self) -> str:
        """Of all that the definition says of what it will be."""
        return self.definition.key(self.arch)

    @cached_property
    def wheeled(self) -> str:
        """sha256 over the wheels; empty where an index is asked."""
        if self.wheels is None:
            return ""
        each = [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in _wheels(self)]
        return hashlib.sha256(json.dumps(each).encode()).hexdigest()

    @property
    def mark(self) -> str:
        """The key, and where there are wheels a digest of both."""
        return hashlib.sha256(f"{self.key} {self.wheeled}".encode()).hexdigest() if self.wheeled else self.key

    def images(self, base: Base) -> Iterator[Reference]:
        """All that a registry is asked for."""
        for text in (base.word, *(image for image, _, _ in self.definition.copies)):
            if isinstance(found := parse(text), Reference):
                yield found

    def labels(self, upon: Upon) -> Mapping[str, str]:
        """What the image built on that base says of itself."""
        return building.labels(self.definition, self.key, upon, self.wheeled)

    def met(self, key: str | None, wheels: str | None) -> bool:
        """Whether an image of that key, and of those wheels, is what is ordered: who names no wheels takes any."""
        return key == self.key and (self.wheels is None or (wheels or "") == self.wheeled)


@dataclass
class Builds:
    """Builds; `told` hears what is worth a line, `progress` every line of a builder."""

    world: World
    registry: Registry
    told: Told = unheard
    progress: Told = unheard
    _daemon: Any = field(default=None)

    def base(self, order: Order) -> Base:
        """The base as it is now, its digest asked for. Raises Failure."""
        text = order.definition.base
        try:
            source = parse(text)
        except ValueError as error:
            raise Failure("faulty", str(error), "`[base] reference`, or `--base`") from error
        if isinstance(source, DaemonImage) and order.builder == "docker":
            return Base(source.name, Upon(source.name))
        if not isinstance(source, Reference):
            raise Failure("faulty", f"the base `{text}` is no image of a registry")
        remote = self.registry.fit(source, order.arch)
        name = f"{source.registry}/{source.repository}"
        word = f"{name}@{remote.manifest.digest}"
        tagged = f"{name}:{source.tag}" if source.tag else name
        return Base(word, Upon(tagged, remote.digest), source, remote)

    def layers(self, order: Order, base: Base, work: Path) -> Built:
        """The image put together from layers. Raises Failure and OSError."""
        definition = order.definition
        if not definition.copies:
            advice = "`--with docker`, or `--with apptainer`"
            raise Failure("faulty", f"`{definition.name}` does more than copy files (`[[copy]]`)", advice)
        if base.reference is None or base.remote is None:
            raise Failure("faulty", f"the base `{base.word}` is in no registry")
        made = Assembly(self.registry, work, order.arch, self.progress)
        labels = order.labels(base.upon)
        return made.build((base.reference, base.remote), definition.copies, labels)

    def docker(self, order: Order, base: Base, work: Path) -> str:
        """The name that the image has with the daemon. Raises Failure, Refused and OSError."""
        daemon, definition = self.daemon(), order.definition
        text = self._containerfile(order)
        more = OFFLINE if order.wheels else {}
        module = import_module("launcher.execute.images.daemon")
        name = _plain(building.local(definition, building.tag(definition, order.key)))
        for image in order.images(base):
            # It knows fewer places where logins are.
            if (login := self.registry.transport.logins.login(image)) is not None:
                daemon.pull(image, login)
        context = work / "context.tar"
        _context(order, context)
        wanted = module.Order(
            context,
            name,
            building.given(definition, arguments(text), base.word, more),
            order.labels(base.upon),
            order.arch,
            order.network,
            order.fresh,
        )
        try:
            daemon.build(wanted, self.progress)
        except module.BuildFailed as failed:
            raise saved.failed(definition, text, order.folder / CONTAINERFILE, failed) from failed
        return name

    def given(self, name: str, work: Path) -> Built:
        """What the daemon has under a name, fetched from it. Raises Failure and OSError."""
        archive = work / "saved.tar"
        self.daemon().save(name, archive)
        return saved.built(archive, work)

    def daemon(self) -> Any:
        """The daemon, found once; which one is told."""
        if self._daemon is None:
            self._daemon = import_module("launcher.execute.images.daemon").connect(self.world)
            self.told(f"building with {self._daemon.name} at {self._daemon.where}")
        return self._daemon

    def close(self) -> None:
        """Closes the connection to the daemon."""
        if self._daemon is not None:
            self._daemon.close()

    def _containerfile(self, order: Order) -> str:
        path = order.folder / CONTAINERFILE
        try:
            return path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise Failure("absent", f"`{path}` does not exist", "`--with` says what builds it instead") from None


@contextmanager
def workplace(world: World, store: Store | None) -> Iterator[Path]:
    """A folder for what a build needs on the way: in the store, which has room, else where temporary files are.

    Raises Failure where it is full, or may not be written to, and OSError.
    """
    folder = store.folder if store else Path(tempfile.gettempdir())
    named = "`TMPDIR` names a folder with more room, or `--store FOLDER`"
    with store.begun() if store else writing(folder, named, named), remains.work(world, folder) as place:
        yield place


def staged(order: Order, place: Path) -> None:
    """The files of the definition in a folder, with the wheels, which may be none."""
    for path in files(order.folder):
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(order.folder / path, place / path)
    (place / WHEELS).mkdir()
    for wheel in _wheels(order):
        shutil.copy2(wheel, place / WHEELS / wheel.name)


def _wheels(order: Order) -> list[Path]:
    return sorted(each for each in order.wheels.iterdir() if each.is_file()) if order.wheels else []


def _context(order: Order, out: Path) -> None:
    """What a builder sees, in an archive that is the same for the same files: builders keep steps by that."""
    with tarfile.open(out, "w", format=tarfile.PAX_FORMAT) as archive:
        inside: Mapping[str, Path] = {path: order.folder / path for path in files(order.folder)}
        for name, path in {**inside, **{f"{WHEELS}/{each.name}": each for each in _wheels(order)}}.items():
            info = tarfile.TarInfo(name)
            info.mode = 0o755 if os.access(path, os.X_OK) else 0o644
            with path.open("rb") as content:
                info.size = content.seek(0, io.SEEK_END)
                content.seek(0)
                archive.addfile(info, content)


def _plain(wanted: Reference) -> str:
    return f"{wanted.registry}/{wanted.repository}:{wanted.tag}"
