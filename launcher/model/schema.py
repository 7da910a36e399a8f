"""JSON Schemas of the kinds of file as they are written, made from the models that read them."""

from collections.abc import Mapping
from typing import Any

from launcher.model.cluster import Cluster
from launcher.model.config import Config
from launcher.model.definition import ImageFile
from launcher.model.lock import Lock
from launcher.model.manifest import Manifest
from launcher.model.recipe import RecipeFile, Table
from launcher.model.value import FLAG_MARK

DRAFT = "https://json-schema.org/draft/2020-12/schema"

MODELS: Mapping[str, type[Table]] = {
    "recipe": RecipeFile,
    "manifest": Manifest,
    "cluster": Cluster,
    "config": Config,
    "lock": Lock,
    "image": ImageFile,
}
"""Kind of file → the model of such a file."""

_FIRST = ("schema", "extends", "name")
"""Keys that a reader meets first."""

_REFERENCE = {"$ref": "#/$defs/FlagValue"}
_FLAG_VALUE = {
    "description": "any TOML value but dates and times; the flag catalogue of the program says which a flag takes",
    "anyOf": [
        {"type": ["boolean", "integer", "number", "string"]},
        {"type": "array", "items": _REFERENCE},
        {"type": "object", "additionalProperties": _REFERENCE},
    ],
}


def schemas() -> dict[str, dict[str, Any]]:
    """Kind of file (`recipe`, `manifest`, `cluster`) → its JSON Schema, draft 2020-12.

    An integer is one as TOML tells it: `1.0` is none, although JSON Schema alone would take it.
    """
    return {name: _schema(model) for name, model in MODELS.items()}


def _schema(model: type[Table]) -> dict[str, Any]:
    made = _plain(model.model_json_schema(by_alias=True))
    if _mentions(made, _REFERENCE):
        made.setdefault("$defs", {})["FlagValue"] = _FLAG_VALUE
    properties = made["properties"]
    first = {key: properties[key] for key in _FIRST if key in properties}
    return {"$schema": DRAFT, **made, "properties": {**first, **properties}}


def _plain(node: Any, named: bool = False) -> Any:
    """A schema in fewer words: TOML has no null; names of keys are `propertyNames`; generated titles say nothing.

    With `named` the node's keys are names (of properties or definitions), not words of JSON Schema.
    """
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, dict):
        return node
    if node == FLAG_MARK:
        return _REFERENCE
    if named:
        return {key: _plain(item) for key, item in node.items()}
    if _optional(node):
        node = {**{key: item for key, item in node.items() if key not in ("anyOf", "default")}, **_present(node)}
    if len(patterns := node.get("patternProperties", {})) == 1:
        (pattern, values), *_ = patterns.items()
        node = {key: item for key, item in node.items() if key != "patternProperties"}
        node |= {"propertyNames": {"pattern": pattern}, "additionalProperties": values}
    table = "properties" in node
    return {
        key: _plain(item, named=key in ("properties", "$defs")) for key, item in node.items() if key != "title" or table
    }


def _optional(node: Mapping[str, Any]) -> bool:
    return {"type": "null"} in node.get("anyOf", ())


def _present(node: Mapping[str, Any]) -> dict[str, Any]:
    """What an optional value is when it is there."""
    choices = [choice for choice in node["anyOf"] if choice != {"type": "null"}]
    return choices[0] if len(choices) == 1 else {"anyOf": choices}


def _mentions(node: Any, part: Mapping[str, Any]) -> bool:
    if node == part:
        return True
    inner = node.values() if isinstance(node, Mapping) else node if isinstance(node, list) else ()
    return any(_mentions(item, part) for item in inner)
