"""The reference pages are made from JSON Schemas; here from small ones written by hand."""

from typing import Any

import pytest

from docs import keys

MOUNT = {
    "title": "Mount",
    "description": "A mount.",
    "properties": {"source": {"type": "string"}},
    "required": ["source"],
}
ROLE = {
    "title": "Role",
    "description": "What a\n    role says.",
    "properties": {
        "replicas": {"type": "integer", "minimum": 1, "default": 1, "description": "how many | of it"},
        "mounts": {"type": "array", "items": {"$ref": "#/$defs/Mount"}, "default": []},
    },
}
ROOT: dict[str, Any] = {
    "title": "Recipe",
    "$defs": {"Mount": MOUNT, "Role": ROLE},
    "properties": {
        "name": {"type": "string", "description": "its name"},
        "defaults": {"anyOf": [{"$ref": "#/$defs/Role"}, {"type": "null"}], "default": None},
        "roles": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Role"}},
    },
    "required": ["name"],
}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "pattern": "^a$"}, "text like `^a$`"),
        ({"type": "integer", "minimum": 1, "maximum": 9}, "whole number 1 to 9"),
        ({"type": "integer", "minimum": 0}, "whole number, at least 0"),
        ({"type": "number", "exclusiveMinimum": 0}, "number above 0"),
        ({"type": "boolean"}, "`true` or `false`"),
        ({"const": 1}, "`1`"),
        ({"enum": ["a", "b"]}, '`"a"`, `"b"`'),
        ({"type": "array", "items": {"type": "string"}}, "list of text"),
        ({"type": "array", "items": {"$ref": "#/$defs/Mount"}}, "list of tables"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "name → text"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "text"),
        ({"anyOf": [{"type": name} for name in ("string", "integer", "number", "boolean", "array")]}, "any value"),
    ],
)
def test_kind_of_a_value(value: dict[str, Any], said: str) -> None:
    assert keys.kind(value, ROOT) == said


def test_equal_tables_share_a_section() -> None:
    headings = [section.headings for section in keys.sections(ROOT)]
    assert headings == [[], ["`[defaults]`", "`[roles.NAME]`"], ["`[[defaults.mounts]]`", "`[[roles.NAME.mounts]]`"]]


def test_page_has_every_key_with_default_and_meaning() -> None:
    page = keys.page("Recipe", "One deployment.", ROOT)
    assert "| `name` | text | required | its name |" in page
    assert "| `replicas` | whole number, at least 1 | `1` | how many \\| of it |" in page
    assert "What a role says." in page
