"""The locator finds every key and value exactly, however a document is written."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.text import locate
from launcher.text.document import Document, KeyPath, Span
from tests.text.writer import Writer

ROOT = Path(__file__).parents[2]
SHIPPED = [*ROOT.glob("recipes/*.toml"), *ROOT.glob("manifests/*.toml"), *ROOT.glob("images/**/*.toml")]


def paths(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    if path:
        yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from paths(item, (*path, key))


def assert_located(text: str) -> None:
    """Every path of the data is located, and what stands there means the key and the value."""
    data = tomllib.loads(text)
    found = locate.document(text)
    assert {path for path, _ in paths(data)} == set(found)
    keys: list[str] = []
    values: list[str] = []
    wanted: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for number, (path, value) in enumerate(paths(data)):
        key, span = (text[slice(*where)] for where in found[path])
        if isinstance(path[-1], str):
            keys.append(f"k{number}.{key} = 1")
            wanted[0][f"k{number}"] = {path[-1]: 1}
        if not isinstance(value, dict | list):
            values.append(f"v{number} = {span}")
            wanted[1][f"v{number}"] = value
    assert tomllib.loads("\n".join(keys)) == wanted[0]
    # As text, because a nan is not equal to itself.
    assert str(tomllib.loads("\n".join(values))) == str(wanted[1])


@settings(max_examples=2000)
@given(seed=st.integers(0, 2**64), size=st.integers(0, 24))
def test_every_key_and_value_is_where_it_was_written(seed: int, size: int) -> None:
    written = Writer(Random(seed), size).document()
    assert_located(written.text)
    assert locate.document(written.text) == written.places


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_files_are_located(path: Path) -> None:
    assert_located(path.read_text(encoding="utf-8"))


TEXT = """\
# comment
title = "x" # comment
[roles.worker]
flags = { a.b = 1, "c d" = [ 1,
  { e = 2024-01-01 10:00:00 }, # comment
] }
[[mounts]]
source = '''
/data'''
[mounts.options]
ro = true
[[mounts]]
[roles]
x.y.z = 1
"""

PLACES: list[tuple[KeyPath, str, str]] = [
    (("title",), "title", '"x"'),
    (("roles",), "roles", "[roles]"),
    (("roles", "worker"), "worker", "[roles.worker]"),
    (("roles", "worker", "flags"), "flags", TEXT[TEXT.index("{ a.b") : TEXT.index("[[mounts")].rstrip()),
    (("roles", "worker", "flags", "a"), "a", "a"),
    (("roles", "worker", "flags", "a", "b"), "b", "1"),
    (("roles", "worker", "flags", "c d", 0), "1", "1"),
    (("roles", "worker", "flags", "c d", 1), "{ e = 2024-01-01 10:00:00 }", "{ e = 2024-01-01 10:00:00 }"),
    (("roles", "worker", "flags", "c d", 1, "e"), "e", "2024-01-01 10:00:00"),
    (("mounts",), "mounts", "[[mounts]]"),
    (("mounts", 1), "[[mounts]]", "[[mounts]]"),
    (("mounts", 0, "source"), "source", "'''\n/data'''"),
    (("mounts", 0, "options", "ro"), "ro", "true"),
    (("roles", "x", "y"), "y", "y"),
    (("roles", "x", "y", "z"), "z", "1"),
]


@pytest.mark.parametrize(("path", "key", "value"), PLACES, ids=[repr(path) for path, _, _ in PLACES])
def test_text_at_span(path: KeyPath, key: str, value: str) -> None:
    document = Document("t", TEXT, tomllib.loads(TEXT))
    where = document.span(path, "key"), document.span(path)
    assert tuple(TEXT[span.start : span.end] for span in where) == (key, value)


def test_second_item_of_an_array_of_tables_is_the_second_header() -> None:
    document = Document("t", TEXT, tomllib.loads(TEXT))
    assert document.span(("mounts", 1)).start == TEXT.rindex("[[mounts]]")


REPEATED: list[tuple[str, KeyPath, str, str]] = [
    ("a = 1\nb = 2\na = 3", ("a",), "a", "a"),
    ("[a]\n[b]\n[a]", ("a",), "a", "a"),
    ("a.b = 1\na.'b' = 2", ("a", "b"), "b", "'b'"),
    ("a = 1\n[a.b]", ("a",), "a", "a"),
    ("a = { x = 1 }\na.y = 2", ("a",), "a", "a"),
    ("x = { y = 1, y = 2 }", ("x", "y"), "y", "y"),
    ("[[a]]\nb = 1\n[a]", ("a",), "a", "a"),
    ("a = [1]\n[[a]]", ("a",), "a", "a"),
]


@pytest.mark.parametrize(("text", "path", "first", "second"), REPEATED, ids=[row[0] for row in REPEATED])
def test_key_set_twice(text: str, path: KeyPath, first: str, second: str) -> None:
    with pytest.raises(locate.Repeated) as raised:
        locate.document(text)
    error = raised.value
    assert error.path == path
    assert (text[slice(*error.first)], text[slice(*error.second)]) == (first, second)
    assert error.first < error.second


def test_missing_path_is_the_key_of_its_nearest_parent() -> None:
    document = Document("t", "[a.b]\nc = [1]\n", {"a": {"b": {"c": [1]}}})
    assert document.span(("a", "b", "x", "y")) == document.span(("a", "b"), "key") == Span(3, 4)
    assert document.span(("a", "b", "c", 7)) == document.span(("a", "b", "c"), "key")
    assert document.span(("x",)) == document.span(()) == Span(0, 0)
