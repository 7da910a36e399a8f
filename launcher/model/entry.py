"""Whether an entry of a flag catalogue is one: people write them by hand, too."""

import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

from launcher.model.flag import Kind, Repeat

LISTS = ("negatives", "choices", "known", "also", "suffixes")
"""Keys whose values are lists of words, as is that of `aliases`."""


def fault(name: str, entry: Any) -> str | None:
    """What is wrong with the entry of a flag, or None."""
    if not isinstance(entry, Mapping):
        return f"`{name}` is no table"
    strange = sorted(entry.keys() - KEYS.keys())
    if strange:
        return f"a flag has no {', '.join(strange)}"
    wrong = next((key for key, value in entry.items() if not KEYS[key](value)), None)
    return f"`{wrong}` of `{name}` cannot be `{entry[wrong]}`" if wrong else None


def plugins_fault(raw: Any) -> str | None:
    """What is wrong with a catalogue of plugins, or None."""
    if not isinstance(raw, Mapping):
        return "it is no table"
    wrong = next((key for key, fits in PLUGINS.items() if key in raw and not fits(raw[key])), None)
    return f"`{wrong}` is not what it should be" if wrong else None


def _words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _switch(value: Any) -> bool:
    return isinstance(value, bool)


def _text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _number(value: Any) -> bool:
    return value is None or isinstance(value, int | float)


def _pattern(value: Any) -> bool:
    try:
        re.compile(value)
    except (re.error, TypeError):
        return False
    return True


def _tree(value: Any) -> bool:
    """Whether these are keys and the types of their values: a table, a list of one, a type's name, or whatever."""
    if isinstance(value, Mapping):
        return all(map(_tree, value.values()))
    return _text(value) or (isinstance(value, list) and len(value) == 1 and _tree(value[0]))


def _plugins(value: Any) -> bool:
    tables = isinstance(value, Mapping) and all(isinstance(each, Mapping) for each in value.values())
    return tables and all(_tree(each.get("parameters")) for each in value.values())


def _any(value: Any) -> bool:
    return True


KEYS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("aliases", *LISTS), _words),
    **dict.fromkeys(("folded", "snake", "apart", "whole", "deprecated", "retired"), _switch),
    **dict.fromkeys(("joined", "form", "instead"), _text),
    **dict.fromkeys(("minimum", "maximum"), _number),
    **dict.fromkeys(("shape", "default"), _any),
    "kind": lambda value: value in get_args(Kind),
    "repeat": lambda value: value in get_args(Repeat),
    "arity": lambda value: value in (None, "?", "*", "+") or isinstance(value, int),
    "pattern": _pattern,
}
"""Key of an entry → whether it may have such a value."""

PLUGINS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("apis", "gates"), _words),
    "configuration": lambda value: isinstance(value, Mapping) and _tree(value),
    "plugins": _plugins,
}
"""Key of a catalogue of plugins → whether it may have such a value."""
