"""The recipe that comes through stdin."""

import sys
from collections.abc import Sequence

from launcher.model.catalogue import Catalogue
from launcher.model.library import Library
from launcher.text.diagnostic import Diagnostic, Refused
from launcher.text.document import Document
from launcher.text.parse import parse

STDIN = "-"


class Piped:
    """A `Library` in which the recipe `-` is what stdin holds; everything else is the one below.

    Stdin is read once; paths in it are relative to the current directory.
    """

    def __init__(self, below: Library) -> None:
        self._below = below
        self._read: Document | None = None

    def recipe(self, name: str, beside: Document | None = None) -> Document:
        """See `Library.recipe`."""
        if name != STDIN or beside is not None:
            return self._below.recipe(name, beside)
        if self._read is None:
            self._read = parse("<stdin>", _text())
        return self._read

    def manifest(self, name: str) -> Document | None:
        """See `Library.manifest`."""
        return self._below.manifest(name)

    def manifests(self) -> Sequence[str]:
        """See `Library.manifests`."""
        return self._below.manifests()

    def cluster(self, name: str) -> Sequence[Document]:
        """See `Library.cluster`."""
        return self._below.cluster(name)

    def clusters(self) -> Sequence[str]:
        """See `Library.clusters`."""
        return self._below.clusters()

    def catalogue(self, program: str, version: str) -> Catalogue | None:
        """See `Library.catalogue`."""
        return self._below.catalogue(program, version)

    def versions(self, program: str) -> Sequence[str]:
        """See `Library.versions`."""
        return self._below.versions(program)

    def text(self, path: str, beside: Document) -> str:
        """See `Library.text`."""
        return self._below.text(path, beside)


def _text() -> str:
    if sys.stdin is None or sys.stdin.closed:
        raise Refused([Diagnostic("recipe-absent", "stdin is closed", None, help="name a recipe file", exit=2)])
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(
            [Diagnostic("not-utf-8", f"`<stdin>` is not UTF-8 at byte {error.start}", None, exit=3)]
        ) from error
