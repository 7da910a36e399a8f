"""Which JSON a class of the program takes, read from what pydantic made of the class.

A type is `"str"`, `"int"`, `"float"`, `"bool"`, `"none"` or `"any"`; a list of types for a union; or one of
`{"one": [words]}`, `{"list": type}`, `{"map": type}`, `{"is": class}`, `{"int": [least, most]}`, `{"float": …}`.
A class is `fields` with their types, those it `needs`, and what becomes of `more`: `refused`, `ignored` or `kept`.
"""

import dataclasses
import importlib
import json
from typing import Any

PLAIN = {
    "str": "str",
    "bool": "bool",
    "none": "none",
    "list": "list",
    "tuple": "list",
    "set": "list",
    "frozenset": "list",
    "dict": "map",
}
INNER = {
    "default": "schema",
    "function-after": "schema",
    "definitions": "schema",
    "json-or-python": "json_schema",
    "lax-or-strict": "lax_schema",
}
MORE = {"forbid": "refused", "allow": "kept", "ignore": "ignored", None: "ignored"}
FIELDS = ("dataclass-args", "model-fields", "typed-dict")


class Types:
    """Collects the classes that flags are read into; `registered` are the parser's spellings with their actions."""

    def __init__(self, registered: Any) -> None:
        self.registered = registered
        self.found: dict[str, Any] = {}

    def shape(self, reader: Any) -> Any:
        """The type of what `reader` makes of a JSON text, or None where it is no class of pydantic's or Python's."""
        if not isinstance(reader, type) or not (dataclasses.is_dataclass(reader) or hasattr(reader, "model_fields")):
            return None
        adapter = importlib.import_module("pydantic").TypeAdapter(reader)
        return Walk(self.found).type(adapter.core_schema)


class Walk:
    """One walk through a core schema."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found
        self.definitions: dict[str, Any] = {}

    def type(self, schema: Any) -> Any:
        """The type that `schema` checks; `any` where code of the program's own decides."""
        kind = schema["type"]
        for one in schema.get("definitions", ()):
            self.definitions[one["ref"]] = one
        if kind in ("int", "float"):
            return bounded(kind, schema)
        if kind in PLAIN:
            return self.plain(PLAIN[kind], schema)
        if kind == "nullable":
            return union([self.type(schema["schema"]), "none"])
        if kind in ("union", "tagged-union"):
            return self.union(schema)
        return self.wrapped(kind, schema)

    def plain(self, name: str, schema: Any) -> Any:
        """A scalar, a list or a table of things of one type."""
        if name == "list":
            items = schema.get("items_schema")
            return {"list": "any" if items is None or isinstance(items, list) else self.type(items)}
        if name == "map":
            values = schema.get("values_schema")
            return {"map": "any" if values is None else self.type(values)}
        return name

    def union(self, schema: Any) -> Any:
        """Either of several types."""
        choices = schema["choices"]
        parts = list(choices.values()) if isinstance(choices, dict) else choices
        return union([self.type(part[0] if isinstance(part, tuple) else part) for part in parts])

    def wrapped(self, kind: str, schema: Any) -> Any:
        """What stands around another type, and classes."""
        if kind == "literal":
            return {"one": [value for value in schema["expected"] if plain(value)]}
        if kind == "enum":
            return {"enum": [(member.name, member.value) for member in schema["members"]]}
        if kind == "definition-ref":
            target = self.definitions.get(schema["schema_ref"])
            return "any" if target is None else self.type(target)
        if kind in ("dataclass", "model", "typed-dict"):
            return self.named(kind, schema)
        if kind in INNER:
            return self.type(schema[INNER[kind]])
        return self.guarded(kind, schema)

    def guarded(self, kind: str, schema: Any) -> Any:
        """A type whose values code of the program's own sees first: it may make more of them than the type says."""
        if kind == "function-before":
            return loose(self.type(schema["schema"]))
        name = getattr(schema.get("function", {}).get("function"), "__name__", "")
        if kind == "function-wrap" and "none" in name:
            return union([self.type(schema["schema"]), "none"])
        return "any"

    def named(self, kind: str, schema: Any) -> Any:
        """A class with fields; it is described once, under its name."""
        name = schema["cls"].__name__ if "cls" in schema else schema.get("ref", "table").rpartition(".")[2]
        if name not in self.found:
            self.found[name] = {}
            inner = fields(schema if kind == "typed-dict" else schema["schema"])
            if inner is None:
                del self.found[name]
                return "any"
            self.found[name] = self.described(inner, schema)
        return {"is": name}

    def described(self, inner: Any, schema: Any) -> Any:
        """Names of the fields with their types; those that must be there; whether others may."""
        listed = inner["fields"]
        pairs = listed.items() if isinstance(listed, dict) else [(each["name"], each) for each in listed]
        made: dict[str, Any] = {}
        needed = []
        for name, each in pairs:
            if each.get("init") is False:
                continue
            made[alias(each) or name] = settled(self.type(each["schema"]))
            if inner["type"] != "typed-dict" and each["schema"]["type"] != "default":
                needed.append(alias(each) or name)
        config = schema.get("config") or {}
        extra = inner.get("extra_behavior") or config.get("extra_fields_behavior")
        return {"fields": made, "needs": needed, "more": MORE[extra]}


def fields(schema: Any) -> Any:
    """The part of a class's schema that has its fields, through whatever is wrapped around it."""
    while schema["type"] not in FIELDS:
        if "schema" not in schema or schema["type"] in ("function-plain", "function-wrap"):
            return None
        schema = schema["schema"]
    return schema


def alias(field: Any) -> Any:
    """The name a field has in JSON, where it is another."""
    found = field.get("validation_alias")
    return found if isinstance(found, str) else None


def plain(value: Any) -> bool:
    """Whether a value has a JSON form of its own."""
    return value is None or isinstance(value, (str, int, float, bool))


def bounded(kind: str, schema: Any) -> Any:
    """A number, with its bounds where it has any."""
    least, most = schema.get("ge"), schema.get("le")
    above, below = schema.get("gt"), schema.get("lt")
    if kind == "int":
        least = least if above is None else above + 1
        most = most if below is None else below - 1
    elif above is not None or below is not None:
        least, most = least if above is None else above, most if below is None else below
    return kind if least is None and most is None else {kind: [least, most]}


def union(types: Any) -> Any:
    """A union, flat, each type once; `any` swallows all."""
    flat: list[Any] = []
    for each in types:
        for one in each if isinstance(each, list) else [each]:
            if one not in flat:
                flat.append(one)
    if "any" in flat:
        return "any"
    return flat[0] if len(flat) == 1 else sorted(flat, key=json.dumps)


def loose(wanted: Any) -> Any:
    """A type that takes words in any case and with dashes, and an enumeration by its names: vLLM's readers do so."""
    if isinstance(wanted, list):
        return union([loose(each) for each in wanted])
    if not isinstance(wanted, dict):
        return wanted
    ((form, inner),) = wanted.items()
    if form == "one":
        others = [word for word in inner if not isinstance(word, str)]
        words = [word for word in inner if isinstance(word, str)]
        return union([*([{"word": words}] if words else []), *([{"one": others}] if others else [])])
    if form == "enum":
        numbers = [value for _, value in inner if isinstance(value, int)]
        names = {"word": [name.lower() for name, _ in inner]}
        return union([names, *([{"one": numbers}] if numbers else [])])
    if form == "list":
        # Text with commas is a list to vLLM's `IrOpPriorityConfig`.
        return union([{"list": loose(inner)}, "str"])
    return {form: loose(inner)} if form == "map" else wanted


def settled(wanted: Any) -> Any:
    """A type whose enumerations are taken by their values."""
    if isinstance(wanted, list):
        return [settled(each) for each in wanted]
    if not isinstance(wanted, dict):
        return wanted
    ((form, inner),) = wanted.items()
    if form == "enum":
        return {"one": [value for _, value in inner if plain(value)]}
    return {form: settled(inner)} if form in ("list", "map") else wanted
