"""Advice in the words of the file that it is about, and commands in it that can be run as they stand there."""

import re
import shlex

from launcher.text.diagnostic import Place

_YAML = (".yaml", ".yml")
_ASSIGNED = re.compile(r"`([\w.-]+) = ([^{`][^`]*)`")


def written(advice: str | None, place: Place) -> str | None:
    """Advice that says `key = value`, for a place in YAML as `key: value`: scalars are the same in both."""
    if advice is None or not place.document.name.endswith(_YAML):
        return advice
    return _ASSIGNED.sub(r"`\1: \2`", advice).replace("a TOML table", "a mapping")


def typed(*words: str) -> str:
    """A command of ours as people type it; words that are empty are left out."""
    return f"`launch {' '.join(filter(None, words))}`"


def option(name: str, value: str) -> str:
    """An option and its value as a shell takes them; nothing for no value."""
    return f"--{name} {shlex.quote(value)}" if value else ""
