"""Flag catalogues on files, and what is known beside them: `flags/` in each folder of role manifests."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from launcher.execute import reading
from launcher.execute.folder import NAME, age, exists, folders, names
from launcher.model.catalogue import Catalogue, load
from launcher.model.entry import plugins_fault
from launcher.model.kin import Kin, Names
from launcher.run.record import mutable
from launcher.text.advice import typed
from launcher.text.diagnostic import Diagnostic, Refused
from launcher.text.document import Document

T = TypeVar("T")


@mutable
class Catalogues:
    """Finds them in `folders`, lowest first. `shown` is what messages call a path, `read` reads a TOML document."""

    folders: Callable[[], Sequence[Path]]
    shown: Callable[[Path], str]
    read: Callable[[Path, str], Document]
    _kept: dict[Path, Catalogue] = field(default_factory=dict)

    def catalogue(self, program: str, version: str) -> Catalogue | None:
        """The flag catalogue of exactly that version, or None. Raises Refused for one that is broken."""
        if not (NAME.fullmatch(program) and NAME.fullmatch(version)):
            return None
        for folder in reversed(self.folders()):
            if exists(path := folder / "flags" / program / f"{version}.json"):
                return self._catalogue(path)
        return None

    def versions(self, program: str) -> Sequence[str]:
        """Versions of the program that have a catalogue, oldest first."""
        if not NAME.fullmatch(program):
            return []
        found = [folder / "flags" / program for folder in self.folders()]
        return sorted({name for folder in found for name in names(folder, ".json")}, key=age)

    def programs(self) -> Sequence[str]:
        """Names of all programs that have a folder for catalogues, sorted."""
        found = [folder / "flags" for folder in self.folders()]
        return sorted({name for folder in found for name in folders(folder)})

    def names(self) -> Names:
        """The reviewed names, of the last folder that has them. Raises Refused for a file that is broken."""
        for folder in reversed(self.folders()):
            if exists(path := folder / "flags" / "names.toml"):
                return _names_of(self.read(path, self.shown(path)))
        return Names()

    def kin(self, program: str, version: str) -> Kin:
        """Other versions of the program, and the newest of every other one. Raises Refused for a broken catalogue."""
        versions = [self.catalogue(program, other) for other in self.versions(program) if other != version]
        newest = {other: self.versions(other)[-1:] for other in self.programs() if other != program}
        others = [self.catalogue(other, one) for other, found in newest.items() for one in found]
        return Kin(self.names(), *(tuple(one for one in each if one) for each in (versions, others)))

    def grammar(self, program: str) -> Document | None:
        """How the program reads its command line, or None. Raises Refused for a file that is broken."""
        for folder in reversed(self.folders()):
            if NAME.fullmatch(program) and exists(path := folder / "flags" / program / "grammar.toml"):
                return self.read(path, self.shown(path))
        return None

    def _catalogue(self, path: Path) -> Catalogue:
        if path not in self._kept:
            anew = f"{typed('flags harvest', path.parent.name, path.stem)} makes it anew"
            self._kept[path] = self._whole(path, self._loaded(path, load, anew))
        return self._kept[path]

    def _whole(self, path: Path, found: Catalogue) -> Catalogue:
        """The catalogue with that of the program's plugins, where there is one of the same version."""
        plugins = path.parent / "plugins" / path.name
        if not exists(plugins):
            return found
        return replace(found, plugins=self._loaded(plugins, _plugins, "begin anew with a copy of the shipped one"))

    def _loaded(self, path: Path, read: Callable[[str], T], advice: str) -> T:
        """What `read` makes of the file's text. Raises Refused where that is a ValueError."""
        shown = self.shown(path)
        try:
            return read(reading.document_text(path, shown))
        except ValueError as error:
            message = f"`{shown}` is no flag catalogue: {error}"
            raise Refused([Diagnostic("catalogue-broken", message, None, help=advice)]) from None


def _plugins(text: str) -> Mapping[str, Any]:
    raw: Mapping[str, Any] = json.loads(text)
    if wrong := plugins_fault(raw):
        raise ValueError(wrong)
    return raw


def _names_of(document: Document) -> Names:
    known = {each.name for each in fields(Names)}
    strange = document.data.keys() - known - {"schema"}
    if strange:
        message = f"`{document.name}` has a table that nothing reads: {', '.join(sorted(strange))}"
        help_ = f"it may have {', '.join(f'`{name}`' for name in sorted(known))}"
        raise Refused([Diagnostic("catalogue-broken", message, None, help=help_)])
    return Names(**{key: value for key, value in document.data.items() if key in known})
