"""Placeholders of a role manifest's command and gates: a small closed set, filled from the plan.

They are the manifest's alone. What users write (flags, environment, preambles) is never searched for them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from launcher.model.manifest import Manifest
from launcher.roles.base import Net, Replica
from launcher.run.script import ref
from launcher.text.document import KeyPath

PORT = "port."
WORKERS_FILE = "workers.json"
"""The file of all endpoints, relative to the run directory."""

Lookup = Callable[[str], str | None]
"""Name of a placeholder → what it stands for; None if it means nothing."""

_PLACEHOLDER = re.compile(r"\{([a-z][a-z_]*(?:\.[A-Za-z0-9_-]+)?)\}")


def fill(value: Any, look: Lookup) -> Any:
    """`value` (text, list, table or plain scalar) with each placeholder replaced by what `look` says for its
    name; those it has nothing for, and keys, stay as they are.
    """
    if isinstance(value, str):
        return _filled(value, look)
    if isinstance(value, list):
        return [fill(item, look) for item in value]
    if isinstance(value, dict):
        return {key: fill(item, look) for key, item in value.items()}
    return value


def _filled(text: str, look: Lookup) -> str:
    pieces = list(_pieces(text))
    for index in range(1, len(pieces), 2):
        found = look(pieces[index])
        pieces[index] = f"{{{pieces[index]}}}" if found is None else found
    return "".join(pieces)


@lru_cache(maxsize=1024)
def _pieces(text: str) -> tuple[str, ...]:
    """Text and names of placeholders in turn. A manifest's texts are filled for every replica."""
    return tuple(_PLACEHOLDER.split(text))


def values(replica: Replica, net: Net, rank: int = 0) -> Lookup:
    """What each placeholder stands for in the step on the replica's node number `rank`."""

    def look(name: str) -> str | None:
        if name.startswith(PORT):
            number = replica.ports.get(name[len(PORT) :])
            return None if number is None else str(number)
        make = _VALUES.get(name)
        return None if make is None else make(replica, net, rank)

    return look


# `python` is a late reference: which interpreter that is, the renderer or the machine knows.
_VALUES: Mapping[str, Callable[[Replica, Net, int], str]] = {
    "python": lambda replica, net, rank: ref("python"),
    "ip": lambda replica, net, rank: ref("ip", replica.nodes[rank]),
    "host": lambda replica, net, rank: ref("host", replica.nodes[rank]),
    "rank": lambda replica, net, rank: str(rank),
    "replica": lambda replica, net, rank: str(replica.index),
    "model": lambda replica, net, rank: net.model or "",
    "served_name": lambda replica, net, rank: net.served_name,
    "public": lambda replica, net, rank: str(net.public),
    "workers_file": lambda replica, net, rank: f"{ref('run')}/{WORKERS_FILE}",
    "run": lambda replica, net, rank: ref("run"),
}

NAMES = frozenset(_VALUES)
"""All there are, besides `port.NAME` for each of the manifest's ports."""


def unknown(manifest: Manifest, model: bool = True) -> Iterator[tuple[KeyPath, str]]:
    """Placeholders that mean nothing: (key path in the manifest, name).

    With `model` false, `{model}` is one of them: the job has no model path.
    """
    known = NAMES | {f"{PORT}{name}" for name in manifest.ports}
    if not model:
        known -= {"model"}
    for path, text in _texts(manifest):
        yield from ((path, name) for name in _PLACEHOLDER.findall(text) if name not in known)


def _texts(manifest: Manifest) -> Iterator[tuple[KeyPath, str]]:
    for index, word in enumerate(manifest.program.command):
        yield ("program", "command", index), word
    for index, gate in enumerate(manifest.gates):
        yield ("gates", index, "url"), gate.url
        for number, expect in enumerate(gate.expect):
            where = ("gates", index, "expect", number)
            for key in ("equals", "has", "where"):
                yield from _strings((*where, key), getattr(expect, key))


def _strings(path: KeyPath, value: Any) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _strings((*path, index), item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _strings((*path, key), item)
