"""Paths of a cluster that differ from user to user: absolute, with `$USER` and `$HOME` in them."""

import re
from collections.abc import Mapping

# `\x24` is a dollar that no reader of patterns takes for the end of the text.
_HOME = r"(?:/|\x24HOME(?=/|$)|\x24\{HOME\}(?=/|$))"
_REST = r"(?:[^\x24,:\"`\\\n\r~]|\x24\{(?:USER|HOME)\}|\x24(?:USER|HOME)(?![A-Za-z0-9_]))*"
PATTERN = _HOME + _REST
"""A whole path. Commas, colons and what a shell reads are left out: containers could not mount it."""

_PATH = PATTERN
_VARIABLE = r"\$(?:\{(USER|HOME)\}|(USER|HOME))"


def expand(path: str, known: Mapping[str, str]) -> str:
    """`path` with its variables replaced by what `known` has for their names. Raises KeyError for a name it lacks."""
    return re.sub(_VARIABLE, lambda found: known[found[1] or found[2]], path)


def test(path: str) -> str:
    """The path itself. Raises ValueError with a phrase ("must be …") for what is none of these."""
    if not re.fullmatch(_PATH, path):
        raise ValueError(f'must be an absolute path without `~ , : " \\` and back-ticks, not `{path}`')
    return path
