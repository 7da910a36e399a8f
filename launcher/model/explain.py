"""Who set a key of a job, and to what: `launch plan --explain KEY`."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from launcher.model.cluster import Cluster
from launcher.model.job import Job, Origin, Origins, table
from launcher.model.recipe import Recipe, Table
from launcher.model.shape import default, purpose
from launcher.model.spelling import recipe_key
from launcher.run.record import record
from launcher.text.diagnostic import Diagnostic, Place, Refused
from launcher.text.document import Document, KeyPath, dotted
from launcher.text.parse import keypath
from launcher.text.suggest import nearest

CLUSTER = "cluster"
"""First part of a key that is looked up in the cluster file."""


@record
class Setting:
    """One place that set a key: the layer as people call it, where it stands, the value there."""

    origin: Origin
    value: Any

    @property
    def layer(self) -> str:
        """`recipe`, `[defaults]`, `--set`, …"""
        return self.origin.layer

    @property
    def place(self) -> Place:
        """Where the value stands."""
        return Place(self.origin.document, self.origin.path)


def explain(job: Job, key: str) -> list[Setting]:
    """Every place that set `key`, lowest first; the last one won.

    `key` is a dotted TOML key of the recipe; under a role (`roles.worker.env`, `router.flags.policy`) the
    cluster, the role manifest and `[defaults]` are looked at too; under `cluster.` it is one of the cluster
    file. Raises Refused (code `not-set`) for a key that nobody set and one that is none.
    """
    try:
        path = keypath(key)
    except Refused as refused:
        raise Refused([_renamed(finding, key) for finding in refused.diagnostics]) from None
    for origins, inner in _looked_up(job, path):
        chain = _chain(origins, path, inner)
        if chain:
            return [Setting(origin, _value(origin)) for origin in chain]
    raise Refused([_unset(job, path)])


def keys(job: Job) -> list[str]:
    """Every key that somebody set, dotted, sorted."""
    found = {path for path in job.origins.chains if path}
    for role in job.roles:
        found |= {(*table(role.name), *path) for path in role.origins.chains if path}
    found |= {(CLUSTER, *path) for path in job.cluster_origins.chains if path}
    return sorted(map(dotted, found))


def _looked_up(job: Job, path: KeyPath) -> Iterator[tuple[Origins, KeyPath]]:
    """Where a key may have been set, and what it is called there; the longer chain first."""
    for role in job.roles:
        own = table(role.name)
        if path[: len(own)] == own and len(path) > len(own):
            yield role.origins, path[len(own) :]
    if path[0] == CLUSTER and len(path) > 1:
        yield job.cluster_origins, path[1:]
    yield job.origins, path


def _chain(origins: Origins, path: KeyPath, inner: KeyPath) -> tuple[Origin, ...]:
    """The chain of a key, of another spelling of it where there is none of this."""
    if inner in origins.chains:
        return origins.chains[inner]
    head, wanted = path[: len(path) - len(inner)], _folded(path)
    return next((chain for other, chain in origins.chains.items() if _folded((*head, *other)) == wanted), ())


def _folded(path: KeyPath) -> KeyPath:
    return tuple(recipe_key(path[:index], str(part)) for index, part in enumerate(path))


def _value(origin: Origin) -> Any:
    value: Any = origin.document.data
    for part in origin.path:
        value = value[part]
    return value


def _unset(job: Job, path: KeyPath) -> Diagnostic:
    key = dotted(path)
    try:
        value = _default(job, path)
    except KeyError:
        found = nearest(key, keys(job))
        help_ = f"did you mean `{found}`?" if found else "`launch schema recipe` has every key and its default"
        return Diagnostic("not-set", f"nobody set `{key}`", None, help=help_, exit=2)
    told = purpose(*_model(path)).partition(": ")[2] or "it has no value"
    said = told if value is None else f"its default is `{json.dumps(value, default=str)}`"
    return Diagnostic("not-set", f"nobody set `{key}`: {said}", None, exit=2)


def _model(path: KeyPath) -> tuple[type[Table], KeyPath]:
    """The model that a key is of, and its path in there."""
    return (Cluster, path[1:]) if path[0] == CLUSTER else (Recipe, path)


def _default(job: Job, path: KeyPath) -> Any:
    """What a key is that nobody set. Raises KeyError for one that is none."""
    model, inner = _model(path)
    if not inner or (path[0] == "roles" and path[:2] not in [table(role.name) for role in job.roles]):
        raise KeyError(path[-1])
    value = default(model, inner)
    return None if isinstance(value, Table) else value


def _renamed(finding: Diagnostic, key: str) -> Diagnostic:
    """A syntax error of the key, in a document that is called after the option."""
    document = Document("--explain", key, {})
    place = finding.place
    moved = Place(document, offset=place.offset, length=place.length) if place else None
    help_ = "the parts of a key are joined by dots, and quoted if not of A-Z a-z 0-9 _ -"
    return replace(finding, place=moved, help=help_, exit=2)
