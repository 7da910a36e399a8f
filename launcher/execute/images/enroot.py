"""`.sqsh` files made by `enroot import`, where somebody wants that."""

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from launcher.execute.images.failure import Failure
from launcher.execute.images.place import Place
from launcher.execute.images.registry import Registry, Remote
from launcher.execute.told import Told, unheard
from launcher.execute.world import World
from launcher.images import importing
from launcher.images.reference import Reference, address, number
from launcher.run import files

_VARIABLE = "ENROOT_CONFIG_PATH"


@dataclass(frozen=True)
class Enroot:
    """enroot at `place`, of version `stated` where somebody says so; `folder` is one that it sees, too."""

    world: World
    registry: Registry
    place: Place
    folder: Path
    compressor: str
    stated: str | None = None

    def make(self, wanted: Reference, remote: Remote, out: Path, told: Told, lock: int) -> str:
        """Makes `out` and returns enroot's version. Raises Failure and OSError."""
        version = self._version(lock)
        try:
            image = importing.spelt(wanted, remote.manifest.digest, version)
        except ValueError as error:
            raise Failure("faulty", str(error), "leave `--with enroot` out") from error
        # It refuses a file that is there, and `mksquashfs` would add to it.
        out.unlink(missing_ok=True)
        env = {"ENROOT_SQUASH_OPTIONS": importing.SQUASH[self.compressor], "SOURCE_DATE_EPOCH": ""}
        if self.registry.transport.scheme(address(wanted.registry)) == "http":
            env["ENROOT_ALLOW_HTTP"] = "yes"
        with self._login(wanted) as more:
            words = importing.words(image, remote.config.arch, str(out))
            ran = self.place.run(words, {**env, **more}, told, lock)
        if ran.exit != 0:
            kind, means, advice = importing.meaning(ran.out)
            known: Any = kind
            raise Failure(known, f"enroot {means}", advice)
        if not importing.pins(version):
            self._same(wanted, remote)
        return version

    def _version(self, lock: int) -> str:
        if self.stated is not None:
            return self.stated
        try:
            ran = self.place.run(("enroot", "version"), {}, unheard, lock)
        except FileNotFoundError:
            ran = None
        lines = ran.out.split() if ran is not None and ran.exit == 0 else []
        if not lines or not number(lines[-1]):
            raise Failure("faulty", "there is no program `enroot`", "leave `--with enroot` out: it is not needed")
        return lines[-1]

    def _same(self, wanted: Reference, remote: Remote) -> None:
        """An enroot that takes no digests may have been given what the tag names since."""
        fresh = Registry(self.registry.transport)
        if fresh.digest(wanted) != remote.digest:
            message = f"`{wanted.repository}{wanted.version}` has moved while it was imported"
            raise Failure("faulty", message, "start anew")

    @contextlib.contextmanager
    def _login(self, wanted: Reference) -> Iterator[dict[str, str]]:
        """Variables by which enroot has the login that we have; the file is gone afterwards."""
        transport = self.registry.transport
        found = transport.logins.login(wanted)
        own = Path(self.world.environ.get(_VARIABLE, "")) / importing.FILE
        if found is None or found.source.endswith(f"/{importing.FILE}"):
            # What it finds itself it may also have as a command, which it alone runs.
            yield {_VARIABLE: str(own.parent)} if _VARIABLE in self.world.environ else {}
            return
        realm = transport.realm(wanted)
        try:
            text = importing.credentials(wanted, httpx.URL(realm).host if realm else "", found)
        except ValueError as error:
            message = f"enroot cannot be given the login: {error}"
            raise Failure("denied", message, "leave `--with enroot` out") from error
        with tempfile.TemporaryDirectory(prefix=".login-", dir=self.folder) as folder:
            files.write(f"{folder}/{importing.FILE}", text.encode("utf-8"), 0o600)
            yield {_VARIABLE: folder}
