"""From text to Document: TOML files, and the words of `--set` and `--unset`."""

import datetime as dt
import tomllib
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from launcher.text import limits, syntax
from launcher.text.diagnostic import Diagnostic, Place, Refused
from launcher.text.document import Document, KeyPath
from launcher.text.locate import SPACE, Located, Range, Walker

CODES: Mapping[str, str] = {
    "toml-syntax": """The text is not TOML

Recipes, role manifests and cluster files are TOML 1.0 (https://toml.io): text stands in quotes, `true` and
`false` are in lower case, a key is set once. A `--set` word is `KEY=VALUE`, an `--unset` word `KEY`.""",
    "yaml-syntax": """The file is not YAML of the kind that is read

A configuration that a recipe names by its file is one YAML document: a mapping, keys of text, each set once, and values
that JSON has too. JSON is such YAML.""",
    "input-too-large": f"""A text or a number is too large to be read

Files of more than {limits.BYTES} bytes and numbers of more than {limits.DIGITS} digits would exhaust the parser.
Name large texts by file (`setup_file`) instead of writing them out.""",
    "input-too-deep": f"""A text is nested too deep to be read

Brackets nested deeper than {limits.BRACKETS}, a dotted key of more than {limits.PARTS} parts, or more than
{limits.LEVELS} levels in all would exhaust the parser.""",
    "reserved-character": """A character that cannot be used

NUL cannot be part of an argument, a variable or a path; U+FDD0 and U+FDD1 mark values that are known late
(host names, addresses); halves of surrogate pairs stand for bytes that are not UTF-8.""",
}
"""Code → what `launch explain CODE` prints; the first line is its summary."""


def parse(name: str, text: str) -> Document:
    """The document of TOML `text`; `name` is what messages call it. Raises Refused, with a place."""
    draft = Document(name, text, {})
    _refuse(limits.before(draft))
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise Refused([_deep(draft)]) from None
    except ValueError as error:
        raise Refused([syntax.diagnose(draft, error)]) from None
    document = Document(name, text, data)
    _refuse(limits.after(document))
    return document


def assignment(text: str) -> Document:
    """The document of a word `KEY=VALUE` of `--set`, its data nested by the dotted key.

    The value is TOML if all of it is; otherwise the text after `=`, to the byte. A bare date or time is
    text too: no key takes one, and `ready.timeout=01:30:00` is meant as written. Positions are those in
    the word. Raises Refused.
    """
    draft = Document("--set", text, {})
    _refuse(limits.before(draft))
    walker = Walker(text)
    keys = _keys(draft, walker)
    path: KeyPath = tuple(name for name, _ in keys)
    if not text.startswith("=", walker.at):
        raise Refused([_unexpected(draft, walker.at, "expected `=` and a value after the key")])
    walker.at += 1
    value, inner = _value(text, walker.at, path, keys[-1][1])
    located = {path[: index + 1]: Located(key, key) for index, (_, key) in enumerate(keys)} | inner
    for name, _ in reversed(keys):
        value = {name: value}
    document = Document("--set", text, value, located)
    _refuse(limits.after(document))
    return document


def keypath(text: str) -> KeyPath:
    """The key path of a word `KEY` of `--unset`. Raises Refused, with a place in a document `--unset`."""
    draft = Document("--unset", text, {})
    _refuse(limits.before(draft))
    walker = Walker(text)
    keys = _keys(draft, walker)
    if walker.at < len(text):
        raise Refused([_unexpected(draft, walker.at, "expected nothing more after the key")])
    return tuple(name for name, _ in keys)


def _refuse(findings: Iterable[Diagnostic]) -> None:
    found = list(islice(findings, limits.FINDINGS))
    if found:
        raise Refused(found)


def _deep(document: Document) -> Diagnostic:
    return Diagnostic("input-too-deep", "the text is nested too deep to be read", Place(document), help=limits.SHALLOW)


def _keys(draft: Document, walker: Walker) -> list[tuple[str, Range]]:
    try:
        return walker.key()
    except ValueError:
        raise Refused([_unexpected(draft, walker.at, "expected a key here")]) from None


def _unexpected(document: Document, offset: int, message: str) -> Diagnostic:
    form = "`--set KEY=VALUE`" if document.name == "--set" else "`--unset KEY`"
    help_ = f"write {form}; the parts of KEY are joined by dots, and quoted if not of A-Z a-z 0-9 _ -"
    return Diagnostic(syntax.CODE, message, Place(document, offset=offset), help=help_)


def _value(text: str, start: int, path: KeyPath, key: Range) -> tuple[Any, dict[KeyPath, Located]]:
    """The value that begins at `start`, and where it and all in it stand."""
    plain = text[start:], {path: Located(key, (start, len(text)))}
    walker = Walker(text, start)
    walker.take(SPACE)
    first = walker.at
    try:
        walker.value(path, key)
        last = walker.at
        if text[last:].strip(" \t"):
            return plain
        value = tomllib.loads(f"_ = {text[first:last]}")["_"]
    except RecursionError:
        raise Refused([_deep(Document("--set", text, {}))]) from None
    except ValueError:
        return plain
    if isinstance(value, (dt.date, dt.time)):
        return plain
    return value, walker.found
