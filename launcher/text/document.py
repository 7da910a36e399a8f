"""A TOML document that remembers its text, so that every key and value can be pointed at."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True)
class Span:
    """Characters `start` (included) to `end` (excluded) of a document's text."""

    start: int
    end: int


@dataclass(frozen=True, eq=False)
class Document:
    """`name` is what messages show (a path as the user gave it, `<stdin>`, `--set`); `data` what `text` means."""

    name: str
    text: str
    data: Mapping[str, Any]

    def span(self, path: KeyPath, part: Literal["key", "value"] = "value") -> Span:
        """Where `path` stands in `text`; the nearest existing parent for a path that does not exist."""
        raise NotImplementedError
