"""Reference pages for the three kinds of file: every key with its type, default and meaning, from the JSON Schema."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Schema = Mapping[str, Any]


@dataclass
class Section:
    """One TOML table of the page; equal tables (`[defaults]`, `[roles.NAME]`) share a section."""

    schema: Schema
    headings: list[str] = field(default_factory=list)
    about: list[str] = field(default_factory=list)


def page(title: str, intro: str, schema: Schema) -> str:
    """The whole page in Markdown."""
    lines = [f"# {title}", "", intro, ""]
    for section in sections(schema):
        lines += [f"## {', '.join(section.headings) or 'top level'}", ""]
        lines += [f"{text}\n" for text in dict.fromkeys(section.about) if text]
        lines += ["| key | value | default | meaning |", "|---|---|---|---|"]
        required = section.schema.get("required", ())
        for key, value in section.schema["properties"].items():
            lines.append(row(key, value, key in required, schema))
        lines.append("")
    return "\n".join(lines)


def row(key: str, value: Schema, required: bool, root: Schema) -> str:
    """One line of a section's table."""
    default = "" if "default" not in value else written(value["default"])
    cells = (f"`{key}`", kind(value, root), "required" if required else default, value.get("description", ""))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def sections(schema: Schema) -> list[Section]:
    """The tables of the schema in the order a reader meets them, each once."""
    found: dict[int | str, Section] = {}
    for name, heading, about, table in tables(schema, schema, ""):
        section = found.setdefault(name, Section(table))
        section.about.append(about)
        if heading and heading not in section.headings:
            section.headings.append(heading)
    return list(found.values())


def tables(table: Schema, root: Schema, path: str) -> Iterator[tuple[str, str, str, Schema]]:
    """(identity, heading, description, table) of the table and of those below it."""
    brackets = ("[[", "]]") if path.endswith("[]") else ("[", "]")
    heading = f"`{brackets[0]}{path.removesuffix('[]')}{brackets[1]}`" if path else ""
    yield table.get("title", path), heading, " ".join(str(table.get("description", "")).split()), table
    if path and set(table["properties"]) < set(root["properties"]):
        return  # a part of the whole file again, as `[variants.NAME]` is: its tables are there already
    for key, value in table["properties"].items():
        below = f"{path.removesuffix('[]')}.{key}".lstrip(".")
        for suffix, nested in inner(value, root):
            yield from tables(nested, root, below + suffix)


def inner(value: Schema, root: Schema) -> Iterator[tuple[str, Schema]]:
    """The tables a value holds: itself, the items of a list (`[]`), the values of a table of names (`.NAME`)."""
    value = resolved(value, root)
    for choice in value.get("anyOf", ()):
        yield from inner(choice, root)
    if "properties" in value:
        yield "", value
    if isinstance(value.get("items"), Mapping):
        yield from (("[]", nested) for suffix, nested in inner(value["items"], root) if not suffix)
    if isinstance(value.get("additionalProperties"), Mapping):
        yield from ((".NAME", nested) for suffix, nested in inner(value["additionalProperties"], root) if not suffix)


def resolved(value: Schema, root: Schema) -> Schema:
    """The value with a `$ref` followed; what holds itself, as JSON does, is any value."""
    if "$ref" not in value:
        return value
    found: Schema = root["$defs"][value["$ref"].rsplit("/", 1)[1]]
    return {} if json.dumps(value["$ref"]) in json.dumps(found) else found


def kind(value: Schema, root: Schema) -> str:
    """What may stand there, in a few words."""
    value = resolved(value, root)
    if "const" in value:
        return f"`{written(value['const'])}`".replace("``", "`")
    if "enum" in value:
        return ", ".join(written(choice) for choice in value["enum"])
    if "anyOf" in value:
        kinds = list(dict.fromkeys(kind(choice, root) for choice in value["anyOf"] if choice.get("type") != "null"))
        return " or ".join(kinds) if len(kinds) < 5 else "any value"
    if value.get("type") == "array":
        return f"list of {plural(kind(value['items'], root))}" if value.get("items") else "list"
    if value.get("type") == "object" or "properties" in value:
        more = value.get("additionalProperties")
        return f"name → {kind(more, root)}" if isinstance(more, Mapping) and more else "table"
    return simple(value)


def plural(name: str) -> str:
    """`tables` for `table`; what is already many or a choice stays."""
    return {"table": "tables", "text or table": "texts or tables"}.get(name, name)


def simple(value: Schema) -> str:
    """A scalar with its bounds."""
    if isinstance(value.get("type"), list):
        return " or ".join(simple({"type": name}) for name in value["type"])
    names = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`"}
    name = names.get(str(value.get("type")), "any value")
    low, high = value.get("minimum"), value.get("maximum")
    if low is not None and high is not None:
        return f"{name} {low} to {high}"
    if low is not None or value.get("exclusiveMinimum") is not None:
        return f"{name}, at least {low}" if low is not None else f"{name} above {value['exclusiveMinimum']}"
    # A long pattern tells a reader nothing; the meaning beside it does.
    return f"{name} like `{value['pattern']}`" if len(value.get("pattern", "")) in range(1, 50) else name


def written(value: Any) -> str:
    """A default as TOML writes it; nothing for an absent one."""
    if value is None or value in ({}, []):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"
