"""Writes TOML documents of every form there is, and keeps where it put each key and value."""

import json
from random import Random

from launcher.text.locate import KeyPath, Located, Range

NAMES = (
    "a",
    "b-1",
    "1",
    "_x",
    "",
    "a.b",
    "# no comment",
    "[x]",
    "'",
    '"',
    "名前",
    "😀",
    "a b",
    "\\",
    "tab\t",
    "=",
    "x\ry",
)
TEXTS = (
    "",
    "plain",
    "# no comment",
    "[[{",
    "]]}",
    "a = 1",
    "日本語 😀",
    "it's",
    'say "hi"',
    "\\",
    "a\tb",
    "true",
    "e\u0301",
)
SCALARS = ("1", "-17", "+3", "1_000", "0xdead_BEEF", "0o17", "0b101", "1.5", "6.02e+23", "-inf", "nan", "true", "false")
DATES = ("1979-05-27T07:32:00Z", "1979-05-27 07:32:00.5-07:00", "1979-05-27 07:32:00", "1979-05-27", "07:32:00")


class Writer:
    """One document: `text` so far and `places`, the expected answer of the locator."""

    def __init__(self, random: Random, size: int) -> None:
        self.random = random
        self.size = size
        self.end = random.choice(("\n", "\r\n"))
        self.text = ""
        self.places: dict[KeyPath, Located] = {}

    def document(self) -> "Writer":
        names = self._names(self.random.randrange(3))
        self._pairs((), {*names})
        for name in names:
            self._table((name,), ((name, False),), 0)
        if self.text.endswith(self.end) and self._chance():
            self.text = self.text[: -len(self.end)]
        return self

    def _chance(self, one_in: int = 2) -> bool:
        return self.random.randrange(one_in) == 0

    def _names(self, count: int, but: frozenset[str] | set[str] = frozenset()) -> list[str]:
        return self.random.sample([name for name in NAMES if name not in but], count)

    def _write(self, text: str) -> Range:
        start = len(self.text)
        self.text += text
        return start, len(self.text)

    def _space(self) -> None:
        self._write(self.random.choice(("", "", " ", "\t ")))

    def _blank(self) -> None:
        """Space where lines may end."""
        self._space()
        if self._chance(4):
            self._write(self.random.choice(("", "#", "# a = [1] \"x' 名 ")) + self.end)
            self._space()

    def _line(self) -> None:
        self._space()
        self._write(self.random.choice(("", "", "# c", "#" + '"""')) + self.end)
        while self._chance(4):
            self._write(self.random.choice(("", "  ", "# [x] = 1", "\t#")) + self.end)

    def _part(self, name: str) -> Range:
        forms = [json.dumps(name), json.dumps(name, ensure_ascii=False)] if max(name, default="") < "\U00010000" else []
        forms += [name] if name and all(c.isascii() and (c.isalnum() or c in "-_") for c in name) else []
        forms += [f"'{name}'"] if not {"'", "\r"} & {*name} else []
        return self._write(self.random.choice(forms))

    def _table(self, path: KeyPath, header: tuple[tuple[str, bool], ...], depth: int) -> None:
        """A table and what lies in it; sometimes tables in it come before its own header, or without one."""
        self.size -= 1
        array = header[-1][1]
        count = self.random.randrange(3) if depth < 2 and self.size > 0 else 0
        late = not array and count > 0 and self._chance(3)
        own = not late or self._chance()
        inner = self._names(count)
        if not late:
            path = self._header(path, header)
            self._pairs(path, {*inner})
        for name in inner:
            items = self.random.choice((0, 0, 1, 2)) if self.size > 0 else 0
            for _ in range(items or 1):
                self._table((*path, name), (*header, (name, items > 0)), depth + 1)
        if late and own:
            path = self._header(path, header)
            self._pairs(path, {*inner})

    def _header(self, path: KeyPath, header: tuple[tuple[str, bool], ...]) -> KeyPath:
        array = header[-1][1]
        self._space()
        start, _ = self._write("[[" if array else "[")
        spans = []
        for index, (name, _) in enumerate(header):
            self._write("." if index else "")
            self._space()
            spans.append(self._part(name))
            self._space()
        _, end = self._write("]]" if array else "]")
        names = [at for at, part in enumerate(path) if isinstance(part, str)]
        for at, span in zip(names[:-1], spans[:-1], strict=True):
            if path[: at + 1] not in self.places:
                self.places[path[: at + 1]] = Located(span, span)
        if array:
            self.places.setdefault(path, Located(spans[-1], (start, end)))
            path = (*path, sum(len(p) == len(path) + 1 and p[:-1] == path for p in self.places))
            self.places[path] = Located((start, end), (start, end))
        else:
            self.places[path] = Located(spans[-1], (start, end))
        self._line()
        return path

    def _pairs(self, path: KeyPath, taken: set[str]) -> None:
        for name in self._names(self.random.randrange(3), taken):
            self._pair(path, name)
            self._line()
            if self._chance(5):  # a dotted key that goes on where another was
                self._pair(path, "dot", "x")
                self._line()
                self._pair(path, "dot", "y")
                self._line()
                return

    def _pair(self, table: KeyPath, *names: str) -> None:
        names = (*names, *self._names(self.random.choice((0, 0, 1, 2))))
        for index, name in enumerate(names):
            self._write("." if index else "")
            self._space()
            span = self._part(name)
            self._space()
            table = (*table, name)
            self.places.setdefault(table, Located(span, span))
        self._write("=")
        self._space()
        self.places[table] = Located(span, self._value(table))

    def _value(self, path: KeyPath) -> Range:
        start = len(self.text)
        self.size -= 1
        kind = self.random.randrange(6 if self.size > 0 else 4)
        if kind == 5:
            self._array(path)
        elif kind == 4:
            self._inline(path)
        elif kind == 3:
            self._write(self.random.choice(SCALARS + DATES))
        else:
            self._string()
        return start, len(self.text)

    def _array(self, path: KeyPath) -> None:
        self._write("[")
        count = self.random.randrange(4)
        for index in range(count):
            self._blank()
            span = self._value((*path, index))
            self.places[(*path, index)] = Located(span, span)
            self._blank()
            self._write("," if index < count - 1 or self._chance() else "")
        self._blank()
        self._write("]")

    def _inline(self, path: KeyPath) -> None:
        self._write("{")
        self._space()
        for index, name in enumerate(self._names(self.random.randrange(3))):
            self._write("," if index else "")
            self._pair(path, name)
            self._space()
        self._write("}")

    def _string(self) -> None:
        text = "".join(self.random.choices(TEXTS, k=self.random.randrange(3)))
        escaped = json.dumps(text, ensure_ascii=False)[1:-1]
        forms = [f'"{escaped}"', f'"""{self.end}{escaped}{self.end}"""', f'"""\\{self.end}  {escaped}"""']
        forms += [f'"""{escaped}""{self.end}"z{escaped}z"""""', '""""two"" quotes"""', f'"""{escaped}\\""""']
        if "'" not in text:
            forms += [f"'{text}'", f"'''{self.end}{text}{self.end}'''", f"'''{text}''{self.end}'''''", "'''it's'''"]
        self._write(self.random.choice(forms))
