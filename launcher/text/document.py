"""A TOML document that remembers its text, so that every key and value can be pointed at."""

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, Literal

from launcher.run.record import record
from launcher.text import locate
from launcher.text.secret import mask

KeyPath = locate.KeyPath

BARE = re.compile(locate.BARE)


def dotted(path: KeyPath) -> str:
    """`path` as people write it: `roles.worker.mounts[0].source`, parts that need quotes in them."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if BARE.fullmatch(part) else _quoted(part))
    return text


def _quoted(part: str) -> str:
    # JSON's escapes are TOML's too; DEL alone is one that JSON leaves as it is.
    return json.dumps(part, ensure_ascii=False).replace("\x7f", "\\u007f")


@record
class Span:
    """Characters `start` (included) to `end` (excluded) of a document's text."""

    start: int
    end: int


@record
class Document:
    """`name` is what messages show (a path as the user gave it, `<stdin>`, `--set`); `data` what `text` means.

    `located` is given where `text` is no TOML document but a word of the command line (`parse.assignment`).
    Documents are equal only to themselves and can be keys of a mapping.
    """

    name: str
    text: str
    data: Mapping[str, Any]
    located: Mapping[KeyPath, locate.Located] | None = field(default=None, repr=False)

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def span(self, path: KeyPath, part: Literal["key", "value"] = "value") -> Span:
        """Where `path` stands in `text`; the key of the nearest parent for a path that does not exist.

        The value of a table is its header, of a table without one the key that implies it; an item of
        an array has no key but itself. The whole document is an empty span at its start.
        """
        while path and path not in self._spans:
            path, part = path[:-1], "key"
        if not path:
            return Span(0, 0)
        located = self._spans[path]
        return Span(*(located.key if part == "key" else located.value))

    def line_column(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both from 1; the column counts characters, a tab being one.

        An offset past the end is the end of the text.
        """
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of line `number` (from 1) without its end; empty past the last one."""
        if not 1 <= number <= len(self._lines):
            return ""
        start = self._lines[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].removesuffix("\r")

    def shown(self, number: int) -> str:
        """Line `number` as people may read it: secrets in it are masked, everything stands where it was."""
        if number not in self._shown:
            start, length = self._lines[number - 1], len(self.line(number))
            self._shown[number] = self._masked[start : start + length]
        return self._shown[number]

    @cached_property
    def _masked(self) -> str:
        return mask(self.text)

    # A line of a megabyte may have thousands of findings: it is cut once.
    @cached_property
    def _shown(self) -> dict[int, str]:
        return {}

    @cached_property
    def _spans(self) -> Mapping[KeyPath, locate.Located]:
        return locate.document(self.text) if self.located is None else self.located

    @cached_property
    def _lines(self) -> list[int]:
        starts, at = [0], self.text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.text.find("\n", at + 1)
        return starts
