"""Conditions of CI services: GitHub's `${{ … }}` and GitLab's `rules: if`, as far as our files use them.

Facts: GitHub compares texts without regard to case, `&&` and `||` give back operands, a name that is not there is
empty (docs.github.com, "Evaluate expressions in workflows and actions"). GitLab's variables are texts; one that is not
set is none (docs.gitlab.com, "Specify when jobs run with rules").
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*'|\"[^\"]*\")|(?P<number>\d+)|(?P<mark>&&|\|\||==|!=|!|\(|\)|,)"
    r"|(?P<name>\$?[A-Za-z_][\w.-]*))"
)
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {"fromJSON": json.loads, "format": str.format}
_EMBEDDED = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)


@dataclass
class Reader:
    """Reads one expression; `names` gives the value of a name, `functions` are called."""

    text: str
    names: Callable[[str], Any]
    functions: Mapping[str, Callable[..., Any]]

    def value(self) -> Any:
        """What it comes to. Raises ValueError for words that are not understood."""
        self._tokens = list(self._split())
        found = self._either()
        if self._tokens:
            message = f"not understood: {self.text!r} from {self._tokens[0]}"
            raise ValueError(message)
        return found

    def _split(self) -> Iterator[tuple[str, str]]:
        at = 0
        while at < len(self.text.rstrip()):
            found = _TOKEN.match(self.text, at)
            if found is None:
                message = f"not understood: {self.text[at:]!r}"
                raise ValueError(message)
            at = found.end()
            yield str(found.lastgroup), found[str(found.lastgroup)]

    def _take(self, *marks: str) -> str | None:
        if self._tokens and self._tokens[0][0] == "mark" and self._tokens[0][1] in marks:
            return self._tokens.pop(0)[1]
        return None

    def _either(self) -> Any:
        left = self._both()
        while self._take("||"):
            right = self._both()
            left = left or right
        return left

    def _both(self) -> Any:
        left = self._compared()
        while self._take("&&"):
            right = self._compared()
            left = right if left else left
        return left

    def _compared(self) -> Any:
        left = self._single()
        while mark := self._take("==", "!="):
            right = self._single()
            same = str(left or "").lower() == str(right or "").lower() if _texts(left, right) else left == right
            left = same if mark == "==" else not same
        return left

    def _single(self) -> Any:
        if self._take("!"):
            return not self._single()
        if self._take("("):
            found = self._either()
            assert self._take(")"), self.text
            return found
        kind, word = self._tokens.pop(0)
        if kind == "text":
            return word[1:-1].replace("''", "'")
        if kind == "number":
            return int(word)
        if kind == "name" and self._take("("):
            return self._call(word)
        return {"true": True, "false": False, "null": None}.get(word, self.names(word))

    def _call(self, word: str) -> Any:
        given = []
        while not self._take(")"):
            given.append(self._either())
            self._take(",")
        return self.functions[word](*given)


def _texts(left: Any, right: Any) -> bool:
    return isinstance(left, str | None) and isinstance(right, str | None)


def github(text: str, context: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
    """The value of an expression without its braces."""

    def named(name: str) -> Any:
        found: Any = context
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return found

    return Reader(text, named, {**_FUNCTIONS, **functions}).value()


def filled(value: Any, context: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
    """A value of a workflow with its expressions filled in: one that is nothing else keeps its kind."""
    if not isinstance(value, str):
        return value
    alone = _EMBEDDED.fullmatch(value.strip())
    if alone:
        return github(alone[1], context, functions)
    return _EMBEDDED.sub(lambda found: said(github(found[1], context, functions)), value)


def said(value: Any) -> str:
    """A value as it stands in an environment."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def gitlab(text: str, variables: Mapping[str, str]) -> bool:
    """Whether a condition of GitLab holds."""
    return bool(Reader(text, lambda name: variables.get(name.removeprefix("$")), {}).value())
