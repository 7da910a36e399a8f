"""Placeholders of a role manifest's command and gates: a small closed set, filled from the plan.

They are the manifest's alone. What users write (flags, environment, preambles) is never searched for them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from launcher.model.manifest import Manifest
from launcher.roles.base import Net, Replica
from launcher.run.script import ref
from launcher.text.document import KeyPath

NAMES = frozenset(
    {"python", "ip", "host", "rank", "replica", "model", "served_name", "public", "workers_file", "run"},
)
"""All there are, besides `port.NAME` for each of the manifest's ports."""

PORT = "port."
WORKERS_FILE = "workers.json"
"""The file of all endpoints, relative to the run directory."""

_PLACEHOLDER = re.compile(r"\{([a-z][a-z_]*(?:\.[A-Za-z0-9_-]+)?)\}")


def fill(value: Any, values: Mapping[str, str]) -> Any:
    """`value` (text, list, table or plain scalar) with each placeholder replaced; keys stay as they are."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), value)
    if isinstance(value, list):
        return [fill(item, values) for item in value]
    if isinstance(value, dict):
        return {key: fill(item, values) for key, item in value.items()}
    return value


def values(replica: Replica, net: Net, rank: int = 0) -> Mapping[str, str]:
    """What each placeholder stands for in the step on the replica's node number `rank`.

    `python` is a late reference: which interpreter that is, the renderer or the machine knows.
    """
    node = replica.nodes[rank]
    return {
        "python": ref("python"),
        "ip": ref("ip", node),
        "host": ref("host", node),
        "rank": str(rank),
        "replica": str(replica.index),
        "model": net.model or "",
        "served_name": net.served_name,
        "public": str(net.public),
        "workers_file": f"{ref('run')}/{WORKERS_FILE}",
        "run": ref("run"),
        **{f"{PORT}{name}": str(number) for name, number in replica.ports.items()},
    }


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
