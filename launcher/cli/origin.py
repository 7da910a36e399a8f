"""Where a key's value comes from: every layer that set it, lowest first."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from launcher.cli.guard import Usage
from launcher.cli.table import table
from launcher.model.job import ROUTER, Job, Origin, Origins
from launcher.text.diagnostic import Place
from launcher.text.document import KeyPath


def chain(job: Job, key: str, *, color: bool = False) -> str:
    """A table of the layers that set `key` (dotted), the winner last. Raises `Usage` for a key nobody set."""
    path = tuple(key.split("."))
    found = _origins(job, path)
    if not found:
        raise Usage(f"nobody set `{key}`", key, _keys(job), "`launch schema recipe` has every key and its default")
    rows = [(origin.layer, _value(origin), _place(origin)) for origin in found]
    return f"{key}\n{table(('set by', 'value', 'where'), rows, color=color)}"


def _origins(job: Job, path: KeyPath) -> Sequence[Origin]:
    for origins, inside in _candidates(job, path):
        if inside and inside in origins.chains:
            return origins.chains[inside]
    return ()


def _candidates(job: Job, path: KeyPath) -> Sequence[tuple[Origins, KeyPath]]:
    # A role's own chain is the longer one: it has the manifest and `[defaults]` below the role's table.
    roles = {role.name: role.origins for role in job.roles}
    if path[0] == ROUTER and ROUTER in roles:
        return [(roles[ROUTER], path[1:]), (job.origins, path)]
    if path[0] == "roles" and len(path) > 1 and path[1] in roles:
        return [(roles[str(path[1])], path[2:]), (job.origins, path)]
    if path[0] == "cluster":
        return [(job.cluster_origins, path[1:])]
    return [(job.origins, path)]


def _keys(job: Job) -> list[str]:
    keys = [".".join(map(str, path)) for path in job.origins.chains]
    for role in job.roles:
        stem = ROUTER if role.name == ROUTER else f"roles.{role.name}"
        keys += [".".join(map(str, (stem, *path))) for path in role.origins.chains]
    return keys


def _value(origin: Origin) -> str:
    value: Any = origin.document.data
    for part in origin.path:
        inside = isinstance(value, Mapping) and part in value
        inside = inside or (isinstance(value, list) and isinstance(part, int) and part < len(value))
        if not inside:
            return ""
        value = value[part]
    return json.dumps(value, ensure_ascii=False, default=str)


def _place(origin: Origin) -> str:
    start = Place(origin.document, origin.path).span().start
    before = origin.document.text[:start]
    return f"{origin.document.name}:{before.count(chr(10)) + 1}:{start - before.rfind(chr(10))}"
