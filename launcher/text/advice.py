"""Advice in the words of the file that it is about."""

import re

from launcher.text.diagnostic import Place

_YAML = (".yaml", ".yml")
_ASSIGNED = re.compile(r"`([\w.-]+) = ([^{`][^`]*)`")


def written(advice: str | None, place: Place) -> str | None:
    """Advice that says `key = value`, for a place in YAML as `key: value`: scalars are the same in both."""
    if advice is None or not place.document.name.endswith(_YAML):
        return advice
    return _ASSIGNED.sub(r"`\1: \2`", advice).replace("a TOML table", "a mapping")
