"""A command line of another program, read by that program's flag catalogue as argparse would read it.

The catalogue is the JSON file that the launcher checks recipes by: one entry a flag, with what is usual left out.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


class Wrong(Exception):
    """The program would end with exit code 2; the text is what it would say."""


class Catalogue:
    """The flags of one version of a program. Raises ValueError for what is no catalogue."""

    def __init__(self, text: str) -> None:
        raw = json.loads(text)
        try:
            self.program, self.version = str(raw["program"]), str(raw["version"])
            self._flags: Mapping[str, Mapping[str, Any]] = raw["flags"]
            self._prefixes, self._folds = bool(raw["prefixes"]), bool(raw.get("folds"))
            self._dotted, self._glued = bool(raw.get("dotted")), tuple(raw.get("glued", {}))
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a flag catalogue: {error}") from error
        self._names: dict[str, tuple[str, bool]] = {}
        for name, flag in self._flags.items():
            for spelling in (name, *flag.get("aliases", ())):
                self._names.setdefault(spelling, (name, True))
        for name, flag in self._flags.items():
            for spelling in flag.get("negatives", ()):
                self._names.setdefault(spelling, (name, False))

    def has(self, spelling: str) -> bool:
        """Whether a flag has this spelling."""
        return spelling in self._names

    def knows(self, name: str) -> bool:
        """Whether the program has a flag of that name."""
        return name in self._names

    def read(self, words: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
        """Words that belong to no flag, and the flags' values by their first names. Raises Wrong."""
        loose: list[str] = []
        found: dict[str, Any] = {}
        todo = list(words)
        while todo:
            word = todo.pop(0)
            if not _dashed(word):
                loose.append(word)
            elif not word.startswith(self._glued or "\0") or word in self._names:
                self._one(word, todo, found)
        return loose, found

    def _one(self, word: str, todo: list[str], found: dict[str, Any]) -> None:
        spelling, joined, value = word.partition("=")
        name, positive, field = self._find(spelling)
        flag = self._flags[name]
        if field:
            text = value if joined else _next(todo, spelling)
            table = found.setdefault(name, {})
            if isinstance(table, dict):
                table[field] = _json(text, text)
            return
        if flag.get("kind") == "bool":
            if joined:
                raise Wrong(f"argument {spelling}: ignored explicit argument {value!r}")
            found[name] = positive
            return
        texts = [value] if joined else list(_taken(flag.get("arity"), todo, spelling))
        values = [_value(flag, spelling, text) for text in texts]
        several = flag.get("arity") not in (None, "?")
        if flag.get("repeat", "last") != "last":
            found[name] = [*found.get(name, ()), *values]
        else:
            found[name] = values if several else (values[0] if values else None)

    def _find(self, spelling: str) -> tuple[str, bool, str]:
        """The flag's first name, whether it is meant positively, and the field of it that is meant."""
        head, dot, field = spelling.partition(".")
        folded = ("--" + head[2:].replace("_", "-")) if self._folds and head.startswith("--") else head
        exact = self._names.get(folded)
        if exact is None and self._prefixes and folded.startswith("--"):
            begun = {self._names[each] for each in self._names if each.startswith(folded)}
            if len(begun) > 1:
                raise Wrong(f"ambiguous option: {spelling}")
            exact = begun.pop() if begun else None
        if exact is None or (dot and not self._dotted):
            raise Wrong(f"unrecognized arguments: {spelling}")
        return (*exact, field)


def _dashed(word: str) -> bool:
    return word.startswith("-") and word != "-" and not _number(word)


def _number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _next(todo: list[str], spelling: str) -> str:
    if not todo or _dashed(todo[0]):
        raise Wrong(f"argument {spelling}: expected one argument")
    return todo.pop(0)


def _taken(arity: Any, todo: list[str], spelling: str) -> Iterator[str]:
    if arity is None:
        yield _next(todo, spelling)
    elif arity == "?":
        if todo and not _dashed(todo[0]):
            yield todo.pop(0)
    elif isinstance(arity, int):
        for _ in range(arity):
            yield _next(todo, spelling)
    else:
        if arity == "+":
            yield _next(todo, spelling)
        while todo and not _dashed(todo[0]):
            yield todo.pop(0)


def _value(flag: Mapping[str, Any], spelling: str, text: str) -> Any:
    kind, choices = flag.get("kind", "str"), flag.get("choices")
    if text in flag.get("also", ()):
        return text
    if choices and text not in choices and not flag.get("folded"):
        raise Wrong(f"argument {spelling}: invalid choice: {text!r} (choose from {', '.join(map(repr, choices))})")
    if kind == "int":
        return _whole(text, flag, spelling)
    if kind == "float" and not _number(text):
        raise Wrong(f"argument {spelling}: invalid float value: {text!r}")
    if kind == "json":
        found = _json(text, None)
        if found is None:
            raise Wrong(f"argument {spelling}: invalid JSON: {text!r}")
        return found
    return text


def _whole(text: str, flag: Mapping[str, Any], spelling: str) -> Any:
    marks = "".join(flag.get("suffixes", ())).replace(" ", "")
    bare = text.rstrip(marks) if marks else text
    if not _number(bare) or (bare == text and not bare.lstrip("+-").isdecimal()):
        raise Wrong(f"argument {spelling}: invalid int value: {text!r}")
    return int(bare) if bare == text else text


def _json(text: str, other: Any) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return other
