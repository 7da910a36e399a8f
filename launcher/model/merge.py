"""The one merge rule, and what remembers it: tables merge, everything else replaces.

Two spellings of one thing (a flag in kebab and in snake case, `setup` and `setup_file`) are one key: the
later layer decides the spelling too. What counts as one key is the `Identity` that is handed in.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from launcher.model.job import Origin
from launcher.run.record import mutable, record
from launcher.text.document import Document, KeyPath

Identity = Callable[[KeyPath, str], str]
"""(key path of the table, key) → what tells the key from others of its table."""


@record
class Layer:
    """A table to be laid over what is below. `data` stands at `path` of `document`; `name` is what people call it."""

    name: str
    document: Document
    data: Mapping[str, Any]
    path: KeyPath = ()


@record
class Removal:
    """A key taken out of what is below: `document` is the word that says so."""

    document: Document
    path: KeyPath


@record
class Twice:
    """One key written twice in one table under two spellings."""

    first: Origin
    second: Origin


@mutable
class Node:
    """A key of the merged tree as the last layer spelt it: its origins, lowest first, and a value or a table."""

    key: str = ""
    chain: list[Origin] = field(default_factory=list)
    value: Any = None
    table: dict[str, "Node"] | None = None


@mutable
class Merged:
    """What came out: the tree, and keys written twice in one layer."""

    root: Node
    twice: list[Twice] = field(default_factory=list)

    def data(self) -> dict[str, Any]:
        """The merged table."""
        found: dict[str, Any] = _data(self.root)
        return found

    def chains(self) -> dict[KeyPath, tuple[Origin, ...]]:
        """Key path → origins, lowest first; items of a list have the one that won."""
        return dict(_chains(self.root, ()))

    def find(self, *path: str) -> Node | None:
        """The node at a path of keys as they are spelt in `data()`."""
        return _find(self.root, path)


def exact(path: KeyPath, key: str) -> str:
    """The identity of keys that have one spelling."""
    return key


def merge(layers: Iterable[Layer], identity: Identity = exact) -> Merged:
    """`layers`, lowest first, merged in that order."""
    merged = Merged(Node(table={}))
    for layer in layers:
        merged.root.chain.append(Origin(layer.document, layer.path, layer.name))
        _overlay(merged, merged.root, layer, (), identity)
    return merged


def prune(steps: Iterable[Layer | Removal], identity: Identity = exact) -> tuple[list[Layer], list[Removal]]:
    """The layers with what each removal takes out of those below it, and the removals that found nothing."""
    layers: list[Layer] = []
    absent: list[Removal] = []
    for step in steps:
        if isinstance(step, Layer):
            layers.append(step)
            continue
        pruned = [replace(layer, data=_without(layer.data, (), step.path, identity)) for layer in layers]
        if all(new.data == old.data for new, old in zip(pruned, layers, strict=True)):
            absent.append(step)
        layers = pruned
    return layers, absent


def below(layers: Iterable[Layer], path: tuple[str, ...], name: str) -> Iterator[Layer]:
    """What `layers` say under `path`; the tables of whole recipes are called `name`."""
    for layer in layers:
        data: Any = layer.data
        for key in path:
            data = data.get(key) if isinstance(data, Mapping) else None
        if isinstance(data, Mapping):
            own = name if layer.name in FILES else layer.name
            yield replace(layer, name=own, data=data, path=(*layer.path, *path))


FILES = ("extends", "recipe")
"""Names of the layers that are whole recipes."""


def _overlay(merged: Merged, node: Node, layer: Layer, path: KeyPath, identity: Identity) -> None:
    if node.table is None:
        node.table = {}
    seen: dict[str, Origin] = {}
    for key, value in layer.data.items():
        origin = Origin(layer.document, (*layer.path, key), layer.name)
        same = identity(path, key)
        if same in seen:
            merged.twice.append(Twice(seen[same], origin))
        seen[same] = origin
        child = node.table.setdefault(same, Node())
        child.key = key
        child.chain.append(origin)
        if isinstance(value, Mapping):
            _overlay(merged, child, replace(layer, data=value, path=origin.path), (*path, key), identity)
        else:
            child.table, child.value = None, value


def _without(data: Mapping[str, Any], at: KeyPath, path: KeyPath, identity: Identity) -> Mapping[str, Any]:
    """A table that stands at `at`, without the key at `path` of it."""
    wanted = identity(at, str(path[0]))
    kept: dict[str, Any] = {}
    for key, value in data.items():
        if identity(at, key) != wanted:
            kept[key] = value
        elif len(path) > 1:
            inner = isinstance(value, Mapping)
            kept[key] = _without(value, (*at, key), path[1:], identity) if inner else value
    return kept


def _data(node: Node) -> Any:
    return node.value if node.table is None else {child.key: _data(child) for child in node.table.values()}


def _chains(node: Node, path: KeyPath) -> Iterator[tuple[KeyPath, tuple[Origin, ...]]]:
    yield path, tuple(node.chain)
    if node.table is not None:
        for child in node.table.values():
            yield from _chains(child, (*path, child.key))
    elif node.chain:
        yield from _items(node.value, path, node.chain[-1])


def _items(value: Any, path: KeyPath, origin: Origin) -> Iterator[tuple[KeyPath, tuple[Origin, ...]]]:
    """Places inside a list, which came whole from one layer."""
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        inner = replace(origin, path=(*origin.path, key))
        yield (*path, key), (inner,)
        yield from _items(item, (*path, key), inner)


def _find(node: Node, path: tuple[str, ...]) -> Node | None:
    for key in path:
        inner = next((child for child in (node.table or {}).values() if child.key == key), None)
        if inner is None:
            return None
        node = inner
    return node
