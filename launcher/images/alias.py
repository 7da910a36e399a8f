"""Aliases in the text of a cluster file: edited so that every other byte, comments and order stay."""

from collections.abc import Mapping, MutableMapping
from typing import Any

import tomlkit
from tomlkit.items import Table

Entry = str | Mapping[str, Any]
"""What an alias is given: a reference, or a table of `reference`, architectures and `versions`."""


_GONE = "\0"
"""Marks headings that are to go: a character that no TOML has (1.0, comments and strings)."""


def begun(name: str) -> str:
    """The text of a cluster file that lies over others and says nothing yet."""
    return f"schema = 1\nname = {tomlkit.string(name).as_string()}\n"


def put(text: str, alias: str, entry: Entry) -> str:
    """`text` with the alias meaning `entry`: in the place where it was, else after the other aliases.

    An alias that has a table under a heading keeps it: a reference alone becomes its `reference`.
    """
    document = tomlkit.parse(text)
    if "images" not in document:
        return _appended(text, alias, entry)
    images = document["images"]
    old = images.get(alias) if isinstance(images, MutableMapping) else None
    if isinstance(old, Table) and isinstance(entry, str):
        entry = {"reference": entry}
    if isinstance(old, MutableMapping) and not isinstance(entry, str):
        _overlaid(old, entry)
    else:
        images[alias] = _item(entry)
    return _dumped(document)


def removed(text: str, alias: str) -> str:
    """`text` without the alias, which must be in it."""
    document = tomlkit.parse(text)
    _dropped(document["images"], alias)
    left = _dumped(document)
    # tomlkit 0.15 takes the end of the line before along with a last key.
    return left if left.endswith("\n") or not text.endswith("\n") else f"{left}\n"


def _dropped(table: MutableMapping[str, Any], key: str) -> None:
    """Takes a key away; of a table under a heading what stands after its keys stays: it is about what comes next."""
    value = table[key]
    if not isinstance(value, Table):
        del table[key]
        return
    for inner in list(value):
        _dropped(value, inner)
    value.comment(_GONE)


def _dumped(document: tomlkit.TOMLDocument) -> str:
    """The text, without the headings of tables that were taken away."""
    lines = tomlkit.dumps(document).splitlines(keepends=True)
    return "".join(line for line in lines if _GONE not in line)


def _appended(text: str, alias: str, entry: Entry) -> str:
    table = tomlkit.document()
    table["images"] = {alias: _item(entry)}
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{gap}{tomlkit.dumps(table)}"


def _overlaid(old: MutableMapping[str, Any], entry: Mapping[str, Any]) -> None:
    """A table that stays where it is, with other contents."""
    for key in [key for key in old if key not in entry]:
        _dropped(old, key)
    for key, value in entry.items():
        if isinstance(value, Mapping) and isinstance(old.get(key), Table):
            _overlaid(old[key], value)
        elif key not in old or old[key] != value:
            old[key] = _item(value)


def _item(entry: Entry | list[str]) -> Any:
    if isinstance(entry, str):
        return tomlkit.string(entry)
    if isinstance(entry, list):
        return tomlkit.item(entry)
    table = tomlkit.inline_table()
    for key, value in entry.items():
        table[key] = _item(value)
    return table
