"""The store: image files by what they are made from, each made once, by one process, whole or not at all.

`NAME-DIGEST.sqsh` is the image of that manifest (`NAME-DIGEST-lz4.sqsh` where nodes read no zstd), and a `.json` of its
name says what it came from. What is under way has names with a dot in front and is taken up again by the next who wants
the image.
"""

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launcher.execute.folder import exists
from launcher.execute.held import Held, held
from launcher.execute.images import inspect, remains
from launcher.execute.images.built import Built
from launcher.execute.images.failure import Failure
from launcher.execute.images.locks import digest
from launcher.execute.images.make import BLOBS, USUAL, Draft, Maker
from launcher.execute.images.registry import Registry, Remote
from launcher.execute.images.room import room, writing
from launcher.execute.told import Told, unheard
from launcher.execute.world import World
from launcher.images.reference import Reference
from launcher.run import files
from launcher.text.advice import typed

PATIENCE = 4 * 3600.0
"""Seconds that an import of another is waited for: longer than any takes."""

ROOM = 3
"""Free bytes that are wanted for each that is downloaded: the layers, and the file made from them."""


@dataclass(frozen=True)
class Stored:
    """An image file of the store, and what is known of where it came from."""

    path: Path
    facts: Mapping[str, Any]

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.path.stat().st_size

    @property
    def used(self) -> float:
        """When somebody wanted it last, in seconds since the epoch."""
        return self.path.with_suffix(".json").stat().st_mtime if self.facts else self.path.stat().st_mtime


@dataclass
class Store:
    """Image files in `folder`, made by `maker`. `told` hears of waits; by `option` a command means this store."""

    world: World
    folder: Path
    registry: Registry
    maker: Maker
    mode: int = 0o644
    told: Told = unheard
    option: str = ""

    @contextmanager
    def writing(self) -> Iterator[None]:
        """While it is written to. Raises Failure where it is full, or may not be written to."""
        advice = f"{typed('images prune --max-size SIZE', self.option)} makes room"
        with writing(self.folder, advice, "`[store] path` of the cluster file, or `--store FOLDER`, names another"):
            yield

    def path(self, wanted: Reference, remote: Remote) -> Path:
        """Where the image is, or will be."""
        name = wanted.repository.rpartition("/")[2]
        return self.place(name, remote.manifest.digest.removeprefix("sha256:"))

    def place(self, name: str, key: str) -> Path:
        """Where a file of that key is; one of another compressor than most is another, for clusters that share us."""
        packed = self.maker.compressor
        other = f"-{packed}" if packed != USUAL else ""
        return self.folder / f"{name.replace('/', '-')}-{key[:32]}{other}{self.maker.suffix}"

    def holds(self, path: Path) -> bool:
        """Whether a file lies in the store, by whatever path it is named."""
        return path.parent.resolve() == self.folder.resolve()

    def found(self, wanted: Reference, arch: str) -> tuple[Path, Remote]:
        """The path of the image for nodes of `arch`, and what the registry has. Raises Failure."""
        remote = self.registry.fit(wanted, arch)
        return self.path(wanted, remote), remote

    def ensure(self, wanted: Reference, arch: str) -> Path:
        """The path of the image, made where it is not there. Raises Failure and OSError."""
        path, remote = self.found(wanted, arch)
        what = f"importing {wanted.repository}{wanted.version}"
        self.once(path, what, lambda lock: self._make(wanted, remote, path, lock), self.good)
        return path

    def once(self, path: Path, what: str, make: Callable[[int], None], good: Callable[[Path], bool]) -> None:
        """Has one process at a time make a file of the store that is not `good`; `what` it does, others are told.

        `make` is given the descriptor of the lock. Raises Failure and OSError.
        """
        remains.tidy(self.world, self.folder)
        if not good(path):
            lock = path.with_name(f".{path.stem}.lock")
            try:
                with self.begun(), held(self.world, lock, what, PATIENCE, self.told) as handle:
                    if not good(path):
                        make(handle)
            except Held as error:
                raise Failure("busy", f"`{path.name}` is being made: {error}", "wait for it") from error
        self._touch(path)

    @contextmanager
    def begun(self) -> Iterator[None]:
        """While it is written to, made where there is none. Raises Failure and OSError."""
        with self.writing():
            if not self._there():
                self.folder.mkdir(parents=True, exist_ok=True)
            yield

    def _there(self) -> bool:
        if exists(self.folder) and not self.folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(self.folder))
        return self.folder.is_dir()

    def take(self, wanted: Reference, built: Built) -> Path:
        """The path of an image that was built here, called `wanted`. Raises Failure and OSError."""
        path = self.path(wanted, built.remote)

        def keep(lock: int) -> None:
            part = path.with_name(f".{path.stem}.part")
            self.maker.keep(Draft(wanted, built.remote, part, built.layout, lock), built)
            self.publish(part, path, _origin(wanted, built.remote))

        self.once(path, f"storing {wanted.repository}{wanted.version}", keep, self.good)
        return path

    def put(
        self, name: str, key: str, known: Mapping[str, Any], make: Callable[[Path], None], *, again: bool = False
    ) -> Path:
        """The path of the file that `make` writes to where it is told, made where there is none of that key."""
        path, done = self.place(name, key), list[Path]()

        def made(lock: int) -> None:
            part = path.with_name(f".{path.stem}.part")
            part.unlink(missing_ok=True)
            make(part)
            self.publish(part, path, known)
            done.append(path)

        self.once(path, f"building {name}", made, lambda path: self.good(path) and (not again or bool(done)))
        return path

    def publish(self, part: Path, path: Path, known: Mapping[str, Any]) -> None:
        """The finished file under its name, once it is whole and on the disk; what is `known` of it is kept with it."""
        header = inspect.file(part).header
        if path.suffix == ".sif" and header.compressor != self.maker.compressor:
            which = f"Apptainer heeds `[store] compressor`, {self.maker.compressor}, since 1.4"
            self.told(f"`{path.name}` is compressed by {header.compressor}: {which}")
        part.chmod(self.mode)
        with ThreadPoolExecutor(1) as pool:
            durable = pool.submit(files.sync, str(part))
            found = {"compressor": header.compressor, "sha256": digest(part, unheard)}
            durable.result()
        text = json.dumps({"schema": 1, **known, **found}, indent=2)
        files.write(str(path.with_suffix(".json")), text.encode() + b"\n", self.mode)
        part.replace(path)
        files.sync(str(path.parent))

    def room(self, wanted: int, path: Path) -> None:
        """Raises Failure where so many bytes, wanted for making `path`, are not free."""
        room(self.folder, wanted, f"`{path.name}`")

    def all(self) -> Iterator[Stored]:
        """Every image file of the store, by name. Raises OSError for a folder that is none."""
        for path in sorted(self.folder.glob("*.s*")) if self._there() else ():
            if path.suffix in remains.FILES and not path.name.startswith("."):
                yield Stored(path, facts(path))

    def remove(self, stored: Stored) -> None:
        """Takes an image file away."""
        stored.path.unlink(missing_ok=True)
        stored.path.with_suffix(".json").unlink(missing_ok=True)

    def good(self, path: Path) -> bool:
        """Whether the file is there and whole; one that is not is made anew."""
        try:
            inspect.file(path)
        except Failure:
            return False
        return True

    def _make(self, wanted: Reference, remote: Remote, path: Path, lock: int) -> None:
        part, layers = path.with_name(f".{path.stem}.part"), path.with_name(f".{path.stem}.layers")
        blobs = layers / BLOBS
        come = sum(each.stat().st_size for each in blobs.iterdir()) if blobs.is_dir() else 0
        self.room(ROOM * remote.manifest.size - come, path)
        if layers.exists() and not os.access(layers, os.W_OK | os.X_OK):
            remains.aside(layers)
        layers.mkdir(exist_ok=True)
        known = _origin(wanted, remote)
        self.publish(part, path, {**known, **self.maker.make(Draft(wanted, remote, part, layers, lock))})
        shutil.rmtree(layers, ignore_errors=True)

    def _touch(self, path: Path) -> None:
        try:
            os.utime(path.with_suffix(".json"))
        except OSError:
            return  # another's file, or a store that is read-only for us


def _origin(wanted: Reference, remote: Remote) -> Mapping[str, Any]:
    return {
        "reference": str(wanted),
        "digest": remote.digest,
        "manifest": remote.manifest.digest,
        "arch": remote.config.arch,
    }


def facts(path: Path) -> Mapping[str, Any]:
    """What is known of where an image file of a store came from; empty for one of which nothing is."""
    try:
        found = json.loads(path.with_suffix(".json").read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
