"""Flags of a file: what vLLM and SGLang make of the one that `--config` names, which the launcher writes as JSON."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from launcher.sim.catalogue import Catalogue, Wrong

FLAG = "--config"


def filed(words: Sequence[str], catalogue: Catalogue) -> list[str]:
    """The words with those of the file in the place of its name. Raises Wrong."""
    if FLAG not in words:
        return list(words)
    at = words.index(FLAG)
    path = words[at + 1] if at + 1 < len(words) else ""
    try:
        said = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Wrong(f"{path}: {error}") from error
    found = [word for key, value in said.items() for word in _words(f"--{key}", value, catalogue)]
    return [*words[:at], *found, *words[at + 2 :]]


def _words(flag: str, value: Any, catalogue: Catalogue) -> Iterator[str]:
    """As `load_config_file` of vLLM 0.32 and SGLang's `ConfigArgumentMerger` of 0.5.23 have them."""
    if value is True:
        yield flag
    elif value is False:
        yield from (each for each in (f"--no-{flag[2:]}",) if catalogue.has(each))
    elif isinstance(value, list):
        yield from (flag, *map(str, value)) if value else ()
    else:
        yield from (flag, json.dumps(value) if isinstance(value, dict) else str(value))
