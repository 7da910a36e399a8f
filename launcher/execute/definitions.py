"""Definitions of images on files: folders `NAME/` with an `image.toml`."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from launcher.execute.folder import every, exists
from launcher.execute.reading import unreadable
from launcher.model.definition import FILE
from launcher.model.library import Folder
from launcher.text.diagnostic import Refused
from launcher.text.document import Document


@dataclass(frozen=True)
class Definitions:
    """Those in `places`, later ones above earlier; `shown` is what people call a path, `read` reads a document."""

    places: Callable[[], Sequence[Path]]
    shown: Callable[[Path], str]
    read: Callable[[Path, str], Document]

    def names(self) -> Sequence[str]:
        """All there are, sorted, those that no image can be called like among them."""
        found = ((place, name) for place in dict.fromkeys(self.places()) for name in every(place))
        return sorted({name for place, name in found if exists(place / name / FILE)})

    def path(self, name: str) -> Path | None:
        """The folder of that name, which may be one that no image can have; None where there is none."""
        if not name or name.startswith(".") or {"/", "\0"} & set(name):
            return None
        return next((path for place in reversed(self.places()) if exists((path := place / name) / FILE)), None)

    def find(self, name: str) -> Folder | None:
        """The definition of that name; None where there is none. Raises Refused for one that cannot be read."""
        path = self.path(name)
        if path is None:
            return None
        document = self.read(path / FILE, self.shown(path / FILE))
        try:
            return Folder(name, document, tuple((each, _digest(path / each)) for each in files(path)))
        except OSError as error:
            raise Refused([unreadable(self.shown(path), error)]) from error


def files(folder: Path) -> Iterator[str]:
    """The files of a definition, relative and sorted; hidden ones, and what Python compiled, are none of it."""
    found = []
    for place, inner, names in os.walk(folder):
        inner[:] = [name for name in inner if not name.startswith(".") and name != "__pycache__"]
        paths = (Path(place) / name for name in names if not name.startswith("."))
        found += [str(path.relative_to(folder)) for path in paths if path.is_file()]
    yield from sorted(found)


def _digest(path: Path) -> str:
    """sha256 of a file, and whether it is a program."""
    with path.open("rb") as content:
        made = hashlib.file_digest(content, "sha256").hexdigest()
    return f"{made} x" if os.access(path, os.X_OK) else made
