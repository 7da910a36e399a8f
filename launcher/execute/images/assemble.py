"""Images that only copy files, put together from the layers of others: for any architecture, without Docker."""

import gzip
import hashlib
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from launcher.execute.images.built import Built
from launcher.execute.images.failure import Failure
from launcher.execute.images.fetch import Fetched
from launcher.execute.images.flatten import XATTR, Flat
from launcher.execute.images.registry import Registry, Remote
from launcher.execute.images.room import room
from launcher.execute.images.sif import BLOBS
from launcher.execute.told import Told, unheard
from launcher.images import assembly
from launcher.images.assembly import Addition
from launcher.images.layering import DEPTH, above, clean, joined
from launcher.images.reference import Reference, parse
from launcher.run import files

ROOM = 4
"""Free bytes that are wanted for each that is downloaded: the layers, their files unpacked, and the image's file."""

_PIECE = 1 << 20

Copy = tuple[str, str, str]
"""An image, a path in it, and where that goes."""


@dataclass
class Assembly:
    """Images of `arch` put together in `folder`, which has room for what they unpack to."""

    registry: Registry
    folder: Path
    arch: str
    told: Told = unheard

    def build(self, base: tuple[Reference, Remote], copies: Sequence[Copy], labels: Mapping[str, str]) -> Built:
        """`base` with what is copied in a layer on top. Raises Failure and OSError."""
        if len(base[1].config.diffs) != len(base[1].manifest.layers):
            raise Failure("faulty", f"`{base[0]}` has other layers in its manifest than in its configuration")
        (self.folder / BLOBS).mkdir(parents=True, exist_ok=True)
        others = {image: self.registry.fit(_reference(image), self.arch).manifest for image, _, _ in copies}
        size = base[1].manifest.size + sum(each.size for each in others.values())
        room(self.folder, ROOM * size, f"`{base[0].repository}{base[0].version}` and what is copied onto it")
        layer = self._layer(self._unpacked(*base), copies)
        manifest, config = assembly.upon(self.registry.documents(*base), layer, labels)
        return Built.of(self.folder, manifest, config)

    def _layer(self, base: "Archive", copies: Sequence[Copy]) -> Addition:
        """The layer with what is copied, stored among the blobs."""
        part = self.folder / "layer.tar"
        known: dict[str, Archive] = {}
        seen: set[str] = set()
        said = []
        with part.open("wb") as out:
            for image, source, target in copies:
                if image not in known:
                    wanted = _reference(image)
                    known[image] = self._unpacked(wanted, self.registry.fit(wanted, self.arch))
                digest = self.registry.digest(_reference(image))
                said.append(f"COPY --from={image.partition('@')[0]}@{digest} {source} {target}")
                self._copied(known[image], (image, source), base.place(clean(target), last=False), base, seen, out)
            out.write(tarfile.NUL * (2 * tarfile.BLOCKSIZE))
        return self._stored(part, said)

    def _copied(
        self, archive: "Archive", what: tuple[str, str], target: str, base: "Archive", seen: set[str], out: IO[bytes]
    ) -> None:
        image, source = what
        path = archive.place(clean(source))
        if path not in archive.kinds:
            raise Failure("absent", f"`{image}` has no `{source}`", "`source` of `[[copy]]` is a path in that image")
        for folder in above(target):
            if folder not in base.kinds and folder not in seen:
                seen.add(folder)
                made = tarfile.TarInfo(folder)
                made.type, made.mode = tarfile.DIRTYPE, 0o755
                out.write(_head(made))
        for member, content in archive.below(path):
            inner = member.name[len(path) :]
            info = renamed(member, f"{target}{inner}")
            out.write(_head(info))
            while content is not None and (piece := content.read(_PIECE)):
                out.write(piece)
            out.write(tarfile.NUL * (-info.size % tarfile.BLOCKSIZE))

    def _stored(self, part: Path, said: Sequence[str]) -> Addition:
        diff, stored = hashlib.sha256(), self.folder / "layer.gz"
        # Neither name nor time of the file is in the archive, so that the same layer is the same bytes.
        with part.open("rb") as content, stored.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as out:
            while piece := content.read(_PIECE):
                diff.update(piece)
                out.write(piece)
        part.unlink()
        with stored.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        size = stored.stat().st_size
        stored.replace(self.folder / BLOBS / digest)
        files.sync(str(self.folder / BLOBS))
        return Addition(f"sha256:{digest}", size, f"sha256:{diff.hexdigest()}", said)

    def _unpacked(self, wanted: Reference, remote: Remote) -> "Archive":
        """All files of an image, in one archive on the disk."""
        path = self.folder / f"{remote.manifest.digest.removeprefix('sha256:')}.tar"
        fetched = Fetched(self.registry, wanted, self.folder / BLOBS)
        self.told(f"fetching {wanted.repository}{wanted.version}, {remote.manifest.size >> 20} MiB")
        try:
            fetched.begin(tuple(reversed(remote.manifest.layers)))
            with path.open("wb") as out:

                def again() -> None:
                    out.seek(0)
                    out.truncate()

                Flat(fetched, remote.manifest.layers, out, restart=again).write()
        finally:
            fetched.close()
        return Archive(path)


class Archive:
    """The files of an image in one tar archive: `kinds` are theirs by path, `links` where symbolic links lead."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kinds: dict[str, bytes] = {}
        self.links: dict[str, str] = {}
        for member in self._members():
            name = clean(member.name)
            self.kinds[name] = member.type
            self.kinds.update({folder: tarfile.DIRTYPE for folder in above(name) if folder not in self.kinds})
            if member.issym():
                self.links[name] = member.linkname

    def place(self, path: str, *, last: bool = True) -> str:
        """Where a path leads, links followed inside the root; with `last` also one that the path itself is."""
        for _ in range(DEPTH):
            turn = next((each for each in (*above(path), *((path,) if last else ())) if each in self.links), None)
            if turn is None:
                return path
            path = f"{joined(turn, self.links[turn])}{path[len(turn) :]}".lstrip("/")
        raise Failure("faulty", f"an image has links in a circle at `/{path[:200]}`")

    def below(self, path: str) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
        """What is at a path, and all below it, by name; a hard link is the file that it names."""
        with tarfile.open(self.path) as archive:
            found = {clean(member.name): member for member in archive}
            for name in sorted(each for each in found if each == path or each.startswith(f"{path}/")):
                member = found[name]
                while member.islnk():
                    member = found[clean(member.linkname)]
                content = archive.extractfile(member) if member.isreg() else None
                yield renamed(member, name), content

    def _members(self) -> Iterator[tarfile.TarInfo]:
        with tarfile.open(self.path) as archive:
            yield from archive


def renamed(member: tarfile.TarInfo, name: str) -> tarfile.TarInfo:
    """The member under another name, as root's own."""
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.mtime, info.linkname = member.type, member.mode, member.mtime, member.linkname
    info.size = member.size if member.isreg() else 0
    info.pax_headers = {key: value for key, value in member.pax_headers.items() if key.startswith(XATTR)}
    return info


def _head(info: tarfile.TarInfo) -> bytes:
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _reference(text: str) -> Reference:
    found = parse(text)
    if not isinstance(found, Reference):
        raise Failure("faulty", f"`{text}` is no image of a registry", "`from` of `[[copy]]` names one")
    return found
