"""Lines and columns of a document, and how key paths are written."""

import pytest

from launcher.text.document import Document, KeyPath, dotted

TEXT = "ab\r\n\tc名😀\n\nx"

COLUMNS: list[tuple[str, int, tuple[int, int]]] = [
    ("", 0, (1, 1)),
    ("", 9, (1, 1)),
    (TEXT, 0, (1, 1)),
    (TEXT, 2, (1, 3)),
    (TEXT, 3, (1, 4)),
    (TEXT, 4, (2, 1)),
    (TEXT, 5, (2, 2)),
    (TEXT, 7, (2, 4)),
    (TEXT, 8, (2, 5)),
    (TEXT, 9, (3, 1)),
    (TEXT, 10, (4, 1)),
    (TEXT, 11, (4, 2)),
    (TEXT, 99, (4, 2)),
    ("a\n", 2, (2, 1)),
    ("a\n", -1, (1, 1)),
]


@pytest.mark.parametrize(("text", "offset", "expected"), COLUMNS)
def test_line_column(text: str, offset: int, expected: tuple[int, int]) -> None:
    assert Document("f", text, {}).line_column(offset) == expected


LINES = [
    (TEXT, 1, "ab"),
    (TEXT, 2, "\tc名😀"),
    (TEXT, 3, ""),
    (TEXT, 4, "x"),
    (TEXT, 5, ""),
    (TEXT, 0, ""),
    ("", 1, ""),
]


@pytest.mark.parametrize(("text", "number", "expected"), LINES)
def test_line(text: str, number: int, expected: str) -> None:
    assert Document("f", text, {}).line(number) == expected


PATHS: list[tuple[KeyPath, str]] = [
    ((), ""),
    (("a", "b-c"), "a.b-c"),
    (("a", 0, "b", 1, 2), "a[0].b[1][2]"),
    (("a", "b.c", ""), 'a."b.c".""'),
    (("名", 'x"y\n'), '"名"."x\\"y\\n"'),
]


@pytest.mark.parametrize(("path", "expected"), PATHS)
def test_dotted(path: KeyPath, expected: str) -> None:
    assert dotted(path) == expected


def test_documents_are_equal_to_themselves_alone() -> None:
    one, other = Document("f", "a = 1", {"a": 1}), Document("f", "a = 1", {"a": 1})
    assert {one: 1, other: 2}[one] == 1
    assert one != other
