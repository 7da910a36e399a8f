"""YAML files: the same values as JSON, every key and value at its place, and nothing that exhausts a reader."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.text import yaml
from launcher.text.diagnostic import Refused

TEXT = st.text(st.characters(codec="utf-8", max_codepoint=0x2FF, exclude_categories=["Cc"]), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXT
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))
TABLES = st.dictionaries(TEXT, VALUES, max_size=4)


@given(TABLES)
def test_json_is_yaml(table: dict[str, Any]) -> None:
    assert yaml.parse("a.json", json.dumps(table, ensure_ascii=False, indent=1)).data == table


@given(st.dictionaries(TEXT, SCALARS | st.lists(SCALARS, max_size=3), min_size=1, max_size=4))
def test_keys_and_values_are_where_they_are_said_to_be(table: dict[str, Any]) -> None:
    document = yaml.parse("a.json", json.dumps(table))
    for key, value in table.items():
        at = document.span((key,), "key")
        assert json.loads(document.text[at.start : at.end]) == key
        if not isinstance(value, list):
            at = document.span((key,))
            assert json.loads(document.text[at.start : at.end]) == value


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: 1\nb: [\n", 3, "expected the node content"),
        ("a: 1\na: 2\n", 2, "the key `a` is set twice"),
        ("- 1\n", 1, "the file is no mapping"),
        ("", 1, "the file is no mapping"),
        ("? [a]\n: 1\n", 1, "a key is no text"),
        ("a: 1\n---\nb: 2\n", 2, "but found another document"),
        (BOMB, 1, "more than 20000 values"),
        ("a: &a [*a]\n", 1, "more than 20000 values"),
        (f"a: {'[' * 60}{']' * 60}\nb: {'{x: ' * 70}1{'}' * 70}\n", 2, "64"),
    ],
)
def test_what_is_refused(text: str, line: int, said: str) -> None:
    with pytest.raises(Refused) as error:
        yaml.parse("a.yaml", text)
    finding = error.value.diagnostics[0]
    assert finding.place is not None
    assert said in finding.message
    at = (
        finding.place.offset
        if finding.place.offset is not None
        else finding.place.document.span(finding.place.path).start
    )
    assert finding.place.document.line_column(at)[0] == line


def test_what_json_has_not_is_taken_as_it_is_written() -> None:
    found = yaml.parse("a.yaml", "day: 2026-11-30\nsize: !big 3G\nnone: ~\nyes_: yes\nport: 08\n")
    assert found.data == {"day": "2026-11-30", "size": "3G", "none": None, "yes_": True, "port": "08"}
