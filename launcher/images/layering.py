"""Layers of an image as one tree, gone through from the top one down, each of their members once.

Facts: OCI image-spec 1.1, "Image Layer Filesystem Changeset". `.wh.NAME` hides NAME of the layers below,
`.wh..wh..opq` everything that they have in its folder; neither hides anything of its own layer. Within one layer the
last of two members of a name counts, as in any tar archive. Paths are kept inside the root, whatever links say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Literal

from launcher.run.record import mutable, record

WHITEOUT, OPAQUE = ".wh.", ".wh..wh..opq"
DEPTH = 40

Kind = Literal["file", "folder", "link"]
"""`link` is a symbolic one; everything that is neither is a `file`."""

Verdict = Literal["take", "hidden", "mark"]


class Twisted(Exception):
    """Raised where a layer has to be gone through anew, now that more is known of those below it."""


@record
class Found:
    """A symbolic link of layer `layer`, which layers above put files below."""

    layer: int
    path: str
    target: str


def clean(name: str) -> str:
    """A member's name as a path inside the root, without a slash in front; empty for the root itself.

    Raises ValueError with a phrase for one that would leave it.
    """
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ValueError(f"a layer has the path `{name[:200]}`, which leaves the image")
    return "/".join(parts)


def above(path: str) -> Iterator[str]:
    """The folders that a path is in, the outermost first."""
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)


@mutable
class Tree:
    """What the layers so far came to. `layer` counts from 0, the lowest; `links` are known from an earlier try."""

    links: tuple[Found, ...] = ()
    layer: int = 0
    taken: dict[str, Kind] = field(default_factory=dict)
    implied: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    opaque: set[str] = field(default_factory=set)
    own: dict[str, Kind] = field(default_factory=dict)
    marks: tuple[set[str], set[str]] = field(default_factory=lambda: (set(), set()))
    targets: dict[str, str] = field(default_factory=dict)

    def begin(self, layer: int) -> None:
        """The next layer down. What the one above hides is hidden from now on."""
        self.gone |= self.marks[0]
        self.opaque |= self.marks[1]
        for path, kind in self.own.items():
            self.taken.setdefault(path, kind)
        self.layer, self.own, self.marks = layer, {}, (set(), set())
        self.targets = {found.path: found.target for found in self.links if found.layer < layer}

    def place(self, path: str) -> str:
        """Where a member of this layer belongs: links among its folders are followed, inside the root.

        Raises ValueError for a circle of them, or for a folder that is a file.
        """
        for _ in range(DEPTH):
            turn = next((each for each in above(path) if self._kind(each) not in (None, "folder")), None)
            if turn is None:
                return path
            target = self.targets.get(turn)
            if target is None:
                raise ValueError(f"a layer puts `{path[:200]}` below `{turn[:200]}`, which is a file")
            path = joined(turn, target) + path[len(turn) :]
            path = path.lstrip("/")
        raise ValueError(f"a layer has links in a circle at `{path[:200]}`")

    def _kind(self, path: str) -> Kind | None:
        own = self.own.get(path)
        return own if own is not None else "link" if path in self.targets else None

    def judge(self, path: str, kind: Kind) -> Verdict:
        """Whether a member is part of the image. A whiteout is a mark, and remembered."""
        folder, _, name = path.rpartition("/")
        if name == OPAQUE:
            self.marks[1].add(folder)
            return "mark"
        if name.startswith(WHITEOUT):
            self.marks[0].add(f"{folder}/{name[len(WHITEOUT) :]}".lstrip("/"))
            return "mark"
        if self._hidden(path, kind):
            return "hidden"
        return "take"

    def _hidden(self, path: str, kind: Kind) -> bool:
        if path in self.taken or path in self.gone or (path in self.implied and kind != "folder"):
            return True
        if "" in self.opaque:
            return True
        return any(
            each in self.gone or each in self.opaque or self.taken.get(each, "folder") != "folder"
            for each in above(path)
        )

    def take(self, path: str, kind: Kind, target: str = "") -> None:
        """A member that is part of the image."""
        self.own[path] = kind
        self.targets.pop(path, None)
        if kind == "link":
            self.targets[path] = target

    def parents(self, path: str) -> Iterator[str]:
        """Folders that are there because a member, itself hidden or a mark, is in them, and that nobody named yet."""
        for each in above(path):
            if each in self.taken or each in self.own:
                continue
            if self._hidden(each, "folder"):
                return
            yield each

    def settle(self) -> None:
        """The end of a layer: folders of its members are folders, also those that it does not name."""
        for path in self.own:
            self.implied.update(above(path))

    def see(self, path: str, kind: Kind, target: str) -> None:
        """A member that is hidden. Raises Twisted for a link that layers above went through without knowing it."""
        if kind == "link" and path in self.implied and path not in self.taken and path not in self.gone:
            found = Found(self.layer, path, target)
            if found not in self.links and not any(each in self.gone or each in self.opaque for each in above(path)):
                raise Twisted(found)


def joined(link: str, target: str) -> str:
    """The target of a link, inside the root."""
    parts = [] if target.startswith("/") else link.split("/")[:-1]
    for part in target.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts = [*parts, part]
    return "/".join(parts)
