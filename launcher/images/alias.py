"""Aliases in the text of a cluster file: edited so that every other byte, comments and order stay."""

from collections.abc import Mapping, MutableMapping
from typing import Any

import tomlkit

Entry = str | Mapping[str, Any]
"""What an alias is given: a reference, or a table of `reference`, architectures and `versions`."""


def begun(name: str) -> str:
    """The text of a cluster file that lies over others and says nothing yet."""
    return f"schema = 1\nname = {tomlkit.string(name).as_string()}\n"


def put(text: str, alias: str, entry: Entry) -> str:
    """`text` with the alias meaning `entry`: in the place where it was, else after the other aliases."""
    document = tomlkit.parse(text)
    if "images" not in document:
        return _appended(text, alias, entry)
    images = document["images"]
    old = images.get(alias) if isinstance(images, MutableMapping) else None
    if isinstance(old, MutableMapping) and not isinstance(entry, str):
        _overlaid(old, entry)
    else:
        images[alias] = _item(entry)
    return tomlkit.dumps(document)


def removed(text: str, alias: str) -> str:
    """`text` without the alias, which must be in it."""
    document = tomlkit.parse(text)
    del document["images"][alias]
    left = tomlkit.dumps(document)
    # tomlkit 0.15 takes the end of the line before along with a last key.
    return left if left.endswith("\n") or not text.endswith("\n") else f"{left}\n"


def _appended(text: str, alias: str, entry: Entry) -> str:
    table = tomlkit.document()
    table["images"] = {alias: _item(entry)}
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{gap}{tomlkit.dumps(table)}"


def _overlaid(old: MutableMapping[str, Any], entry: Mapping[str, Any]) -> None:
    """A table that stays where it is, with other contents."""
    for key in [key for key in old if key not in entry]:
        del old[key]
    for key, value in entry.items():
        if key not in old or old[key] != value:
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
