"""Where keys and values stand in TOML text (`tomllib`, which reads the values, tells no positions).

The locator only walks: it takes for granted what `tomllib` has checked, and is used on no other text.
"""

import re
import tomllib
from functools import cache
from typing import NamedTuple

KeyPath = tuple[str | int, ...]
Range = tuple[int, int]

BARE = r"[A-Za-z0-9_-]++"
BASIC = r'"(?:[^"\\\n]++|\\.)*+"'
LITERAL = r"'[^'\n]*+'"
BLOCK = r'"""(?:[^"\\]++|\\[\s\S]|"{1,2}+(?!"))*+"{3,5}' + r"|'''(?:[^']++|'{1,2}+(?!'))*+'{3,5}"

SPACE = r"[ \t]*+"
BLANK = r"(?:[ \t\r\n]++|#[^\n]*+)*+"
PART = f"{BARE}|{BASIC}|{LITERAL}"
SCALAR = f"{BLOCK}|{BASIC}|{LITERAL}" + r"|\d{4}-\d\d-\d\d \d\d:[^\s,\]}#]++|[^\s,\[\]{}#\"'=]++"

# Compiled when a place is asked for: a file without mistakes needs none.
_compiled = cache(re.compile)


class Located(NamedTuple):
    """Half-open character ranges of a key and of its value.

    The value of a table is its header (`[roles.worker]`); of a table that has none, the key that implies
    it. An item of an array has no key, so its key is its value.
    """

    key: Range
    value: Range


class Repeated(ValueError):
    """`path` is set at `first` and again at `second` (ranges of the keys)."""

    def __init__(self, path: KeyPath, first: Range, second: Range) -> None:
        super().__init__(f"set twice: {path}")
        self.path, self.first, self.second = path, first, second


def document(text: str) -> dict[KeyPath, Located]:
    """Every key path of a TOML document, in the order they are met.

    Raises ValueError where `text` is no TOML (some of it; `tomllib` is the judge), as Repeated for a key
    that is set twice.
    """
    walker = Walker(text)
    walker.statements()
    return walker.found


def unquoted(part: str) -> str:
    """The key that the text of one part of a dotted key means."""
    if part[0] == "'":
        return part[1:-1]
    if part[0] != '"':
        return part
    return str(tomllib.loads(f"_ = {part}")["_"]) if "\\" in part else part[1:-1]


class Walker:
    """Goes over `text` from `at`, and keeps what it finds by key path."""

    def __init__(self, text: str, at: int = 0) -> None:
        self.text = text
        self.at = at
        self.found: dict[KeyPath, Located] = {}
        self._table: KeyPath = ()
        self._arrays: dict[KeyPath, int] = {}  # arrays of tables → how many items so far
        self._implied: set[KeyPath] = set()  # tables known from longer headers alone: a header may follow
        self._open: set[KeyPath] = set()  # tables that longer keys may go through

    def statements(self) -> None:
        """Walk to the end of the document."""
        while self.take(BLANK) and self.at < len(self.text):
            if self.text[self.at] == "[":
                self._header()
            else:
                self.pair(self._table)

    def take(self, pattern: str) -> Range:
        """Step over `pattern`. Raises ValueError if it is not there."""
        match = _compiled(pattern).match(self.text, self.at)
        if match is None:
            raise ValueError(f"not TOML at character {self.at}")
        self.at = match.end()
        return match.span()

    def key(self) -> list[tuple[str, Range]]:
        """Step over a dotted key and the space around it."""
        parts = []
        while True:
            self.take(SPACE)
            start, end = self.take(PART)
            self.at = start  # a part that means nothing (an unknown escape) is not stepped over
            parts.append((unquoted(self.text[start:end]), (start, end)))
            self.at = end
            self.take(SPACE)
            if not self._skip("."):
                return parts

    def pair(self, table: KeyPath) -> None:
        """Step over `key = value` in `table`."""
        *parents, (name, key) = self.key()
        for parent, span in parents:
            table = (*table, parent)
            self._pass(table, span)
        self._expect("=")
        self.take(SPACE)
        self._add((*table, name), Located(key, key))
        self.value((*table, name), key)

    def value(self, path: KeyPath, key: Range | None) -> None:
        """Step over a value."""
        start = self.at
        if self._skip("["):
            self._array(path)
        elif self._skip("{"):
            self._inline(path)
        else:
            self.take(SCALAR)
        self.found[path] = Located(key or (start, self.at), (start, self.at))

    def _array(self, path: KeyPath) -> None:
        for index in range(len(self.text)):
            self.take(BLANK)
            if self._skip("]"):
                return
            self.found[(*path, index)] = Located((self.at, self.at), (self.at, self.at))
            self.value((*path, index), None)
            self.take(BLANK)
            self._skip(",")

    def _inline(self, path: KeyPath) -> None:
        self.take(BLANK)
        while not self._skip("}"):
            self.pair(path)
            self.take(BLANK)
            self._skip(",")
            self.take(BLANK)

    def _header(self) -> None:
        table: KeyPath = ()
        start = self.at
        array = self.text.startswith("[[", start)
        self.at += 2 if array else 1
        *parents, (name, key) = self.key()
        self._expect("]]" if array else "]")
        for parent, span in parents:
            table = self._enter((*table, parent), span)
        table, header = (*table, name), (start, self.at)
        if array:
            table = self._item(table, key, header)
        elif table in self._implied:
            self._implied.remove(table)
            self.found[table] = Located(key, header)
        else:
            self._add(table, Located(key, header))
            self._open.add(table)
        self._table = table

    def _item(self, path: KeyPath, key: Range, header: Range) -> KeyPath:
        """The next item of an array of tables."""
        if path not in self._arrays:
            self._add(path, Located(key, header))
        count = self._arrays.get(path, 0)
        self._arrays[path] = count + 1
        self.found[(*path, count)] = Located(header, header)
        return (*path, count)

    def _enter(self, path: KeyPath, span: Range) -> KeyPath:
        """Go through `path` in a header: into the last item if it is an array of tables."""
        if path in self._arrays:
            return (*path, self._arrays[path] - 1)
        if path not in self.found:
            self._implied.add(path)
        self._pass(path, span)
        return path

    def _pass(self, path: KeyPath, span: Range) -> None:
        """Go through `path` in a dotted key."""
        if path not in self.found:
            self._open.add(path)
        if path not in self._open:
            raise Repeated(path, self.found[path].key, span)
        self.found.setdefault(path, Located(span, span))

    def _add(self, path: KeyPath, located: Located) -> None:
        if path in self.found:
            raise Repeated(path, self.found[path].key, located.key)
        self.found[path] = located

    def _skip(self, mark: str) -> bool:
        there = self.text.startswith(mark, self.at)
        self.at += len(mark) if there else 0
        return there

    def _expect(self, mark: str) -> None:
        if not self._skip(mark):
            raise ValueError(f"not TOML at character {self.at}")
