"""The layers of an image as one tar archive, written as they are read: nothing is unpacked, little is remembered.

Runs on compute nodes too, by Python 3.9.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from typing import IO, Protocol

from launcher.execute.images.failure import Failure
from launcher.execute.images.unpack import Archive, archive, forget
from launcher.images.layering import Found, Kind, Tree, Twisted, above, clean
from launcher.images.oci import Layer

MOST = 1 << 40
"""Bytes that one layer may unpack to: a bomb has more, images of models less."""

XATTR = "SCHILY.xattr."


class Source(Protocol):
    """Where the bytes of layers come from; a layer may be read again."""

    def open(self, layer: Layer) -> AbstractContextManager[Iterable[bytes]]:
        """The layer as it is stored, in pieces."""


@dataclass
class Pending:
    """Hard links that wait for what they name: target → names; `names` are all of them."""

    links: dict[str, list[str]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)

    def wait(self, target: str, name: str) -> None:
        """`name` is to become a link to `target`."""
        self.links.setdefault(target, []).append(name)
        self.names.add(name)

    def taken(self, target: str) -> list[str]:
        """Names that waited for `target`; they do no longer."""
        found = self.links.pop(target, [])
        self.names.difference_update(found)
        return found


@dataclass
class Flat:
    """One archive under way: `added` are files of ours, (path, text), which lie above every layer."""

    source: Source
    layers: Sequence[Layer]
    out: IO[bytes]
    added: Sequence[tuple[str, str]] = ()
    folders: Sequence[str] = ()
    most: int = MOST
    restart: Callable[[], None] = lambda: None
    told: Callable[[int], None] = lambda number: None
    """Hears which layer is next, the lowest being 0."""

    def write(self) -> None:
        """Writes the archive. Raises Failure for layers that are broken or hostile, OSError where `out` breaks.

        Where a layer above turns out to go through a link of one below, all begins anew after `restart`.
        """
        links: tuple[Found, ...] = ()
        last: dict[int, dict[str, int]] = {}
        while True:
            try:
                _Pass(self, Tree(links), last).run()
            except Twisted as twisted:
                found = twisted.args[0]
                if isinstance(found, Found):
                    links = (*links, found)
                else:
                    last[found] = self.indexed(found)
                self.restart()
            except (tarfile.TarError, EOFError) as error:
                raise Failure("faulty", f"a layer is no tar archive, or a broken one: {error}") from error
            else:
                return

    def indexed(self, number: int) -> dict[str, int]:
        """Path → which of the layer's members is the last of that name."""
        found: dict[str, int] = {}
        for order, member in enumerate(members(self.source, self.layers[number], self.most)):
            found[_clean(member.info.name)] = order
        return found


@dataclass(frozen=True)
class Member:
    """A member of a layer, and its content while it is at hand."""

    info: tarfile.TarInfo
    archive: Archive

    @property
    def kind(self) -> Kind:
        """What it is to the tree."""
        return "folder" if self.info.isdir() else "link" if self.info.issym() else "file"

    def content(self) -> Iterator[memoryview | bytes]:
        """What is in it, in pieces; less where the archive ends inside."""
        return self.archive.content(self.info)


def members(source: Source, layer: Layer, most: int) -> Iterator[Member]:
    """The members of a layer, in order. Raises Failure, and what tarfile raises."""
    with source.open(layer) as pieces, closing(archive(pieces, layer.compression, most)) as opened:
        for info in opened:
            forget(opened)
            yield Member(info, opened)


@dataclass
class _Pass:
    """One way through all layers."""

    flat: Flat
    tree: Tree
    last: dict[int, dict[str, int]]
    pending: Pending = field(default_factory=Pending)
    needed: dict[str, None] = field(default_factory=dict)
    """Folders that are there although all that was in them is not."""

    looks: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Folders of the layer at hand, and how they look."""

    def run(self) -> None:
        self.tree.begin(len(self.flat.layers))
        for path, text in self.flat.added:
            self._text(path, text)
        self.tree.settle()
        for number in reversed(range(len(self.flat.layers))):
            self.tree.begin(number)
            self.flat.told(number)
            self._layer(number)
            self.tree.settle()
        if self.pending.links:
            target, names = next(iter(self.pending.links.items()))
            raise Failure("faulty", f"a layer has a hard link `{names[0]}` to `{target}`, which no layer has")
        self.tree.begin(-1)
        # Folders that nobody names would get the time of day.
        for path in (*sorted(self.tree.implied), *self.needed, *map(_clean, self.flat.folders)):
            self._folder(path)
        self.flat.out.write(tarfile.NUL * (2 * tarfile.BLOCKSIZE))

    def _layer(self, number: int) -> None:
        orphans: dict[str, list[str]] = {}
        hidden: set[str] = set()
        self.looks = {}
        last = self.last.get(number)
        for order, member in enumerate(members(self.flat.source, self.flat.layers[number], self.flat.most)):
            name = _clean(member.info.name)
            if last is None or last[name] == order:
                self._seen(number, name, member, hidden, orphans)
        if orphans:
            self._orphans(number, orphans)

    def _seen(self, number: int, name: str, member: Member, hidden: set[str], orphans: dict[str, list[str]]) -> None:
        try:
            path = self.tree.place(name)
        except ValueError as error:
            raise Failure("faulty", str(error)) from None
        verdict = self.tree.judge(path, member.kind)
        if verdict == "mark":
            return
        # Devices are of the machine that runs the image; nobody but root could make them.
        device = member.info.ischr() or member.info.isblk()
        if verdict == "hidden" or device:
            self.needed.update(dict.fromkeys(self.tree.parents(path)))
        if verdict == "hidden":
            hidden.add(path)
            self.tree.see(path, member.kind, member.info.linkname)
            if path in self.pending.links:
                orphans.setdefault(path, []).extend(self.pending.taken(path))
        elif not device:
            self._member(number, path, member, hidden, orphans)

    def _member(self, number: int, path: str, member: Member, hidden: set[str], orphans: dict[str, list[str]]) -> None:
        if path in self.tree.own:
            # Of two members of a name the last counts: only once all of the layer is known.
            if self.looks.get(path) != _look(member):
                raise Twisted(number)
            return
        if member.kind == "folder":
            self.looks[path] = _look(member)
        if member.info.islnk():
            target = self._target(member.info.linkname)
            self.tree.take(path, "file")
            if self.tree.own.get(target) in ("file", "link") and target not in self.pending.names:
                self._hard(path, target)
            elif target in hidden:
                orphans.setdefault(target, []).append(path)
            else:
                self.pending.wait(target, path)
            return
        self.tree.take(path, member.kind, member.info.linkname)
        self._copy(path, member)
        for name in self.pending.taken(path):
            self._hard(name, path)

    def _target(self, name: str) -> str:
        try:
            return self.tree.place(_clean(name))
        except ValueError as error:
            raise Failure("faulty", str(error)) from None

    def _orphans(self, number: int, orphans: dict[str, list[str]]) -> None:
        """Links to what a layer above hides: their content is in this layer, which is read once more."""
        last = self.flat.indexed(number)
        for order, member in enumerate(members(self.flat.source, self.flat.layers[number], self.flat.most)):
            path = _clean(member.info.name)
            names = orphans.pop(path, None) if last[path] == order else None
            if names is None:
                continue
            if member.info.islnk():
                orphans.setdefault(_clean(member.info.linkname), []).extend(names)
                continue
            self._copy(names[0], member)
            for name in names[1:]:
                self._hard(name, names[0])
        for target, names in orphans.items():
            for name in names:
                self.pending.wait(target, name)

    def _copy(self, path: str, member: Member) -> None:
        if not path:
            return  # the root is as its writer makes it: `sqfstar` refuses to be told
        info = _header(path, member.info)
        self._put(info)
        if info.isreg():
            left = info.size
            for piece in member.content():
                self.flat.out.write(piece)
                left -= len(piece)
            if left:
                raise Failure("faulty", f"a layer ends inside `{path[:200]}`")
            self.flat.out.write(tarfile.NUL * (-info.size % tarfile.BLOCKSIZE))

    def _hard(self, path: str, target: str) -> None:
        info = tarfile.TarInfo(path)
        info.type, info.linkname = tarfile.LNKTYPE, target
        self._put(info)

    def _text(self, path: str, text: str) -> None:
        content = text.encode("utf-8", "surrogateescape")
        info = tarfile.TarInfo(path)
        info.size = len(content)
        self.tree.take(path, "file")
        self._put(info)
        self.flat.out.write(content + tarfile.NUL * (-info.size % tarfile.BLOCKSIZE))

    def _folder(self, path: str) -> None:
        """A folder that no layer names."""
        if not path or path in self.tree.taken:
            return
        if any(self.tree.taken.get(each, "folder") != "folder" for each in above(path)):
            return
        self.tree.taken[path] = "folder"
        info = tarfile.TarInfo(path)
        info.type, info.mode = tarfile.DIRTYPE, 0o755
        self._put(info)

    def _put(self, info: tarfile.TarInfo) -> None:
        self.flat.out.write(info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape"))


def _header(path: str, old: tarfile.TarInfo) -> tarfile.TarInfo:
    """The member as root's own, whoever made the layer."""
    info = tarfile.TarInfo(path)
    info.type = tarfile.REGTYPE if old.isreg() else old.type
    info.mode, info.mtime, info.linkname = old.mode & 0o7777, int(old.mtime), old.linkname
    info.size = old.size if info.isreg() else 0
    info.pax_headers = {name: value for name, value in old.pax_headers.items() if name.startswith(XATTR)}
    return info


def _look(member: Member) -> tuple[int, str]:
    return member.info.mode & 0o7777, repr(sorted(member.info.pax_headers.items()))


def _clean(name: str) -> str:
    try:
        return clean(name)
    except ValueError as error:
        raise Failure("faulty", str(error)) from None
