"""What `link` asks for documents; `execute` implements it on files, tests on dictionaries."""

from collections.abc import Sequence
from typing import Protocol

from launcher.model.catalogue import Catalogue
from launcher.model.kin import Kin, Names
from launcher.run.record import record
from launcher.text.document import Document


@record
class Folder:
    """A definition of an image as it lies there: its `image.toml`, and the sha256 of each of its files, by path."""

    name: str
    document: Document
    files: tuple[tuple[str, str], ...]


class Library(Protocol):
    """Every method raises `text.diagnostic.Refused` for a document that is there but cannot be read or parsed."""

    def recipe(self, name: str, beside: Document | None = None) -> Document:
        """The recipe `name`, relative to the document it stands in (for `extends`).

        The same Document for the same file, so that a circle of recipes is seen. Role manifests are looked
        for beside the recipe last asked for without `beside`, and beside those it extends.
        """
        ...

    def manifest(self, name: str) -> Document | None:
        """The role manifest of that name, or None."""
        ...

    def manifests(self) -> Sequence[str]:
        """Names of all role manifests, sorted."""
        ...

    def cluster(self, name: str) -> Sequence[Document]:
        """The files that make the cluster, lowest first; empty if there is none of that name."""
        ...

    def clusters(self) -> Sequence[str]:
        """Names of all clusters, sorted."""
        ...

    def image(self, name: str) -> Folder | None:
        """The definition of an image of that name, or None."""
        ...

    def images(self) -> Sequence[str]:
        """Names of all definitions of images, sorted."""
        ...

    def catalogue(self, program: str, version: str) -> Catalogue | None:
        """The flag catalogue of exactly that version, or None."""
        ...

    def versions(self, program: str) -> Sequence[str]:
        """Versions of the program that have a catalogue, oldest first."""
        ...

    def names(self) -> Names:
        """The reviewed names of programs and flags."""
        ...

    def kin(self, program: str, version: str) -> Kin:
        """What is known beside the catalogue of that version of the program."""
        ...

    def lock(self) -> Document | None:
        """The project's `launch.lock`: beside the recipe last asked for, or above it; None where there is none."""
        ...

    def lock_option(self) -> str:
        """By which `launch images` means that lock, or where it would be; empty where it does so by itself."""
        ...

    def text(self, path: str, beside: Document) -> str:
        """A text file named in `beside`, relative to it (`setup_file`). Raises OSError or UnicodeDecodeError."""
        ...

    def configuration(self, path: str, beside: Document) -> Document:
        """A YAML file named in `beside`, relative to it (`epp_config`). Raises OSError or UnicodeDecodeError too."""
        ...
