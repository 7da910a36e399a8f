"""The library on files: where recipes, role manifests, clusters and flag catalogues are found.

Role manifests and clusters are found by the name of their file, in this order, later wins:

- shipped: `manifests/`, `images/clusters/` beside the package in a checkout, in `_data/` of an installed wheel,
- `/etc/launch/manifests/`, `/etc/launch/clusters/`,
- `$XDG_CONFIG_HOME/launch/…` (`$HOME/.config/launch/…` where unset, nothing where both are),
- role manifests: `manifests/` beside the recipes that the recipe extends, and beside the recipe itself,
- clusters: the file that is named instead of a cluster.

`config.toml` of the last two folders but one says what holds for every command, the user's above the site's.

Definitions of images are folders `NAME/` with an `image.toml`, found in `images/` likewise; a project's own are in
`images/` beside the recipe, or above it, as its `launch.lock` is.

A role manifest replaces the one below it, and so does a definition of an image; cluster files of one name are overlaid,
which is `link`'s affair.
"""

import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from launcher.execute import reading
from launcher.execute.catalogues import Catalogues
from launcher.execute.definitions import Definitions
from launcher.execute.folder import NAME, above, exists, names
from launcher.model.catalogue import Catalogue
from launcher.model.kin import Kin, Names
from launcher.model.library import Folder
from launcher.model.lock import FILE as LOCK
from launcher.text.advice import option
from launcher.text.diagnostic import Diagnostic, Refused
from launcher.text.document import Document
from launcher.text.limits import BYTES
from launcher.text.parse import parse
from launcher.text.suggest import nearest

Answer = TypeVar("Answer")

PACKAGE = Path(__file__).resolve().parents[1]
SITE = Path("/etc/launch")
STDIN = "-"
CONFIG = "config.toml"


def data(package: Path = PACKAGE) -> Path:
    """The folder of shipped `manifests`, `images` and `recipes`: of a wheel, else of the checkout."""
    installed = package / "_data"
    return installed if installed.is_dir() else package.parent


def config(environment: Mapping[str, str]) -> Path | None:
    """The user's folder of `launch`, or None where neither `XDG_CONFIG_HOME` nor `HOME` is an absolute path."""
    home, own = environment.get("HOME", ""), environment.get("XDG_CONFIG_HOME", "")
    if own.startswith("/"):
        return Path(own) / "launch"
    return Path(home) / ".config" / "launch" if home.startswith("/") else None


def stdin() -> bytes:
    """What comes through standard input, a byte more than a document may have at most. Raises Refused."""
    if sys.stdin is None or sys.stdin.closed:
        raise Refused([Diagnostic("file-absent", "standard input is closed", None, help="name a recipe file", exit=2)])
    return sys.stdin.buffer.read(BYTES + 1)


class Files:
    """A `Library` on files. One file is read once, and is one Document however often and by whatever path it is named.

    `environment` tells the user's folder, `shipped` and `site` are the folders of the launcher and of the
    machine, relative names start at `directory` (default: where the process is), `read` gives standard input.
    """

    def __init__(
        self,
        environment: Mapping[str, str] = os.environ,
        *,
        shipped: Path | None = None,
        site: Path = SITE,
        directory: Path = Path(),
        read: Callable[[], bytes] = stdin,
    ) -> None:
        self._shipped = shipped or data()
        self._folders = [folder for folder in (site, config(environment)) if folder is not None]
        self._directory = directory
        self._stdin = read
        self._documents: dict[Path, Document] = {}
        self.catalogues = Catalogues(self._manifest_folders, self._shown, self._document)
        self.definitions = Definitions(self._image_folders, self._shown, self._document)
        self._homes: dict[Document, Path] = {}
        self._beside: list[Path] = []
        self._answers: dict[tuple[str | Path, ...], Any] = {}
        self._project = directory

    def recipe(self, name: str, beside: Document | None = None) -> Document:
        """The recipe `name`: a file if it has a `/` or ends in `.toml`, `-` for standard input, else a shipped one.

        A file is relative to `beside`. Role manifests are looked for beside the recipe last asked for without
        `beside`, and beside those that it extends. Raises Refused.
        """
        if beside is None and name == STDIN:
            document = self._piped()
        elif _is_path(name):
            document = self._document(*self._located(name, beside))
        else:
            document = self._named(name)
        if beside is None:
            self._project = self._homes[document] if _is_path(name) else self._directory
        folder = self._homes[document] / "manifests"
        self._beside = [folder] if beside is None else [folder, *self._beside]
        return document

    def recipes(self) -> Sequence[str]:
        """Names of the shipped recipes, sorted."""
        return list(names(self._shipped / "recipes"))

    def manifest(self, name: str) -> Document | None:
        """The role manifest of that name, the last of the folders that have it, or None. Raises Refused."""
        return self._once(lambda: self._manifest(name), "manifest", name)

    def manifests(self) -> Sequence[str]:
        """Names of all role manifests, sorted."""
        return self._once(
            lambda: sorted({name for folder in self._manifest_folders() for name in names(folder)}), "manifests"
        )

    def cluster(self, name: str) -> Sequence[Document]:
        """The files of the cluster, lowest first; `name` may be a file, which is the last of them. Raises Refused."""
        if not _is_path(name):
            return self._overlaid(name)
        path, shown = self._located(name, None)
        document = self._document(path, shown)
        own = document.data.get("name")
        below = self._overlaid(own if isinstance(own, str) else path.stem)
        return [*(one for one in below if one is not document), document]

    def clusters(self) -> Sequence[str]:
        """Names of all clusters, sorted."""
        return self._once(
            lambda: sorted({name for folder in self._cluster_folders() for name in names(folder)}), "clusters"
        )

    def image(self, name: str) -> Folder | None:
        """The definition of an image of that name, the last of the folders that have it, or None. Raises Refused."""
        return self._once(lambda: self.definitions.find(name), "image", name, self._project)

    def images(self) -> Sequence[str]:
        """Names of all definitions of images, sorted."""
        return self.definitions.names()

    def config(self) -> Sequence[Document]:
        """The files that set something for every command, the user's last. Raises Refused."""
        paths = [folder / CONFIG for folder in self._folders]
        return [self._document(path, self._shown(path)) for path in paths if exists(path)]

    def beside(self, document: Document, name: str) -> str:
        """A file that a document names, as one that is named on the command line; anything else as it is."""
        return str(self._located(name, document)[0]) if _is_path(name) else name

    def config_path(self, cluster: str) -> Sequence[str]:
        """Which files make the cluster, lowest first, as messages call them. Raises Refused."""
        return [document.name for document in self.cluster(cluster)]

    def catalogue(self, program: str, version: str) -> Catalogue | None:
        """The flag catalogue of exactly that version, or None. Raises Refused for one that is broken."""
        return self._once(lambda: self.catalogues.catalogue(program, version), "catalogue", program, version)

    def versions(self, program: str) -> Sequence[str]:
        """Versions of the program that have a catalogue, oldest first."""
        return self.catalogues.versions(program)

    def names(self) -> Names:
        """The reviewed names of programs and flags. Raises Refused."""
        return self._once(self.catalogues.names, "names")

    def kin(self, program: str, version: str) -> Kin:
        """What is known beside the catalogue of that version. Raises Refused."""
        return self.catalogues.kin(program, version)

    def lock(self) -> Document | None:
        """The project's `launch.lock`, or None. Raises Refused for one that cannot be read."""
        path = self.lock_path()
        return self._document(path, self._shown(path)) if exists(path) else None

    def lock_path(self) -> Path:
        """Where the project's lock is, or would be: beside the recipe, where none is above it."""
        found = self._once(lambda: above(self._project, LOCK), "lock", self._project)
        return found or self._project / LOCK

    def lock_option(self) -> str:
        """By which `launch images` means that lock; empty where it is the one that is found from where it runs."""
        path, own = self.lock_path(), above(self._directory, LOCK) or self._directory / LOCK
        return "" if path.absolute() == own.absolute() else option("lock", self._shown(path))

    def text(self, path: str, beside: Document) -> str:
        """A text file relative to the document that names it, to the byte.

        Raises OSError (for what is no regular file or too large, too) or UnicodeDecodeError.
        """
        return reading.text(self._homes.get(beside, self._directory) / path)

    def _once(self, answer: Callable[[], Answer], *asked: str | Path) -> Answer:
        """What was answered before to the same question; which manifests there are, the recipe's place decides too."""
        key = (*asked, *self._beside)
        if key not in self._answers:
            self._answers[key] = answer()
        found: Answer = self._answers[key]
        return found

    def _manifest(self, name: str) -> Document | None:
        if not NAME.fullmatch(name):
            return None
        for folder in reversed(self._manifest_folders()):
            if exists(path := folder / f"{name}.toml"):
                return self._document(path, self._shown(path))
        return None

    def configuration(self, path: str, beside: Document) -> Document:
        """A YAML file relative to the document that names it. Raises Refused, OSError or UnicodeDecodeError."""
        found = self._homes.get(beside, self._directory) / path
        return _yaml()(self._shown(found), reading.text(found))

    def _manifest_folders(self) -> list[Path]:
        return [folder / "manifests" for folder in (self._shipped, *self._folders)] + self._beside

    def _cluster_folders(self) -> list[Path]:
        return [self._shipped / "images" / "clusters", *(folder / "clusters" for folder in self._folders)]

    def _image_folders(self) -> list[Path]:
        project = self._project.absolute()
        return [each / "images" for each in (self._shipped, *self._folders, *reversed(project.parents), project)]

    def _overlaid(self, name: str) -> list[Document]:
        if not NAME.fullmatch(name):
            return []
        paths = self._once(
            lambda: [path for folder in self._cluster_folders() if exists(path := folder / f"{name}.toml")],
            "cluster",
            name,
        )
        return [self._document(path, self._shown(path)) for path in paths]

    def _named(self, name: str) -> Document:
        path = self._shipped / "recipes" / f"{name}.toml"
        if NAME.fullmatch(name) and exists(path):
            return self._document(path, self._shown(path))
        found = nearest(name, names(self._shipped / "recipes"))
        own = f"`./{name}.toml`" if NAME.fullmatch(name) else "`./my.toml`"
        otherwise = f"a recipe of your own is named by its file: {own}; `launch config ls` lists those that are shipped"
        help_ = f"did you mean `{found}`?" if found else otherwise
        raise Refused([Diagnostic("file-absent", f"no shipped recipe is named `{name}`", None, help=help_, exit=2)])

    def _located(self, name: str, beside: Document | None) -> tuple[Path, str]:
        """Path of a file that a document (or the command line) names, and what to call it."""
        if beside is None or beside not in self._homes:
            return self._directory / name, name
        path = self._homes[beside] / name
        return path, os.path.normpath(Path(beside.name).parent / name)

    def _piped(self) -> Document:
        place = Path(STDIN)
        if place not in self._documents:
            content = self._stdin()
            try:
                document = parse("<stdin>", content.decode("utf-8"))
            except UnicodeDecodeError as error:
                raise Refused([reading.not_utf8("<stdin>", error)]) from None
            self._documents[place], self._homes[document] = document, self._directory
        return self._documents[place]

    def _document(self, path: Path, name: str) -> Document:
        try:
            place = path.resolve()
        except (OSError, RuntimeError, ValueError):
            place = path
        if place not in self._documents:
            document = parse(name, reading.document_text(path, name, self.recipes))
            self._documents[place], self._homes[document] = document, path.parent
        return self._documents[place]

    def _shown(self, path: Path) -> str:
        """A path as people like to read it: relative where that is shorter."""
        try:
            return str(path.relative_to(self._directory.absolute()))
        except ValueError:
            return str(path)


def _yaml() -> Callable[[str, str], Document]:
    # Its parser is only imported for a recipe that names such a file.
    read: Callable[[str, str], Document] = importlib.import_module("launcher.text.yaml").parse
    return read


def _is_path(name: str) -> bool:
    return "/" in name or name.endswith(".toml") or name in (".", "..")
