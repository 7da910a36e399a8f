"""Cluster files that are written: a new one, or keys of one that is there, its comments and order kept."""

import os
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import Comment, Table, Whitespace

from launcher.execute import reading
from launcher.execute.folder import exists
from launcher.execute.held import Held, editing, replace
from launcher.execute.world import World
from launcher.images.alias import begun
from launcher.model.cluster import Cluster
from launcher.model.library import Library
from launcher.model.linking import Linking
from launcher.run import files
from launcher.text.advice import typed
from launcher.text.diagnostic import Diagnostic, Refused
from launcher.text.document import KeyPath
from launcher.text.parse import parse

Changes = Mapping[KeyPath, Any]

_MODE = 0o644


def changed(text: str, changes: Changes) -> str:
    """The TOML document with these keys set, everything else as it was; new tables come last.

    Raises ValueError where a key cannot be set: an array or a value is in its way.
    """
    for path, value in changes.items():
        if len(path) == 1 and path[0] not in tomllib.loads(text):
            text = _begun(text, str(path[0]), value)
    document = tomlkit.parse(text)
    for path, value in changes.items():
        table: Any = document
        for part in path[:-1]:
            if part not in table:
                # A table of its own, not a dotted key: that is how people write cluster files.
                table[part] = tomlkit.table()
            table = table[part]
            if not isinstance(table, Mapping):
                raise ValueError(f"`{part}` is no table")
        _set(table, str(path[-1]), value)
    after = tomlkit.dumps(document)
    found = tomllib.loads(after)
    if any(_at(found, path) != value for path, value in changes.items()):
        raise ValueError("its tables stand in an order that hides what is written")
    return after


def _begun(text: str, key: str, value: Any) -> str:
    """The text with a key of its own, on the line after the last such key that has one value."""
    document = parse("", text)
    plain = [name for name, each in document.data.items() if not isinstance(each, dict | list)]
    last = max([document.span((name,)).end for name in plain], default=None)
    line = f"{key} = {tomlkit.item(value).as_string()}"
    if last is None:
        return f"{line}\n{text}"
    rest = text.find("\n", last)
    end, before = ("\r\n" if text[rest - 1] == "\r" else "\n"), text[: rest + 1] if rest >= 0 else f"{text}\n"
    return f"{before}{line}{end}{text[rest + 1 :] if rest >= 0 else ''}"


def _at(found: Any, path: KeyPath) -> Any:
    for part in path:
        found = found[part]
    return found


def _set(table: Any, key: str, value: Any) -> None:
    if key in table:
        # The comment behind a value belongs to the item that is replaced.
        trivia = table[key].trivia
        table[key] = value
        table[key].trivia.comment_ws, table[key].trivia.comment = trivia.comment_ws, trivia.comment
    elif isinstance(table, Table) and not table.is_super_table():
        # Comments at the end of a table are mostly about the next one.
        body, last = table.value.body, list[Whitespace | Comment]()
        while body and isinstance(item := body[-1][1], Whitespace | Comment):
            last.append(item)
            body.pop()
        table.append(key, value)
        for each in reversed(last):
            table.add(each)
    else:
        table[key] = value


def edited(world: World, library: Library, path: Path, name: str, changes: Changes) -> bool:
    """Writes the changes into a cluster file, one that is made where there is none; whether anything was to be done.

    A link is followed, the file's mode kept; it is written whole or not at all, one process at a time. Raises Refused,
    and OSError.
    """
    path.resolve().parent.mkdir(parents=True, exist_ok=True)
    try:
        with editing(world, path) as place:
            return _written(library, path, place, name, changes)
    except Held as error:
        raise _failed(f"`{path}` is being edited: {error}", "try again") from error


def _written(library: Library, path: Path, place: Path, name: str, changes: Changes) -> bool:
    there = exists(place)
    before = reading.document_text(place, str(path)) if there else begun(name)
    try:
        after = changed(before, changes)
    except (ValueError, TypeError) as error:
        raise _failed(f"`{path}` cannot be changed: {error}", "write the keys by hand") from error
    check(library, str(path), after)
    if there and after == before:
        return False
    replace(place, after)
    return True


def created(library: Library, path: Path, text: str) -> None:
    """Writes a new cluster file. Raises Refused where one is there already, and OSError."""
    check(library, str(path), text)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    files.write(str(temporary), text.encode("utf-8"), _MODE)
    try:
        # Unlike a rename, a link never takes the place of a file that came meanwhile.
        os.link(temporary, path)
    except FileExistsError:
        doctor = typed("cluster doctor", shlex.quote(str(path)), "--write")
        raise _failed(f"`{path}` is there already", f"{doctor} corrects a file that is") from None
    finally:
        temporary.unlink()


def check(library: Library, name: str, text: str) -> None:
    """Nothing is written that could not be read again. Raises Refused."""
    linking = Linking(library)
    linking.read(Cluster, parse(name, text))
    if linking.findings:
        raise Refused(linking.findings)


def nested(changes: Iterable[tuple[KeyPath, Any]]) -> Changes:
    """The changes, keys of the document itself first: TOML has them before its tables."""
    return dict(sorted(changes, key=lambda change: len(change[0]) > 1))


def _failed(message: str, advice: str) -> Refused:
    return Refused([Diagnostic("operation-failed", message, None, help=advice, exit=1)])
