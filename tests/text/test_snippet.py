"""What is underlined stands under what it is about, whatever the line holds."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.text.snippet import COLUMNS, clean, underlined, width

LINES = st.text(st.sampled_from("ab =\t'名😀\u0301\x1b\u202e…"), max_size=160)


def columns(text: str) -> int:
    return sum(map(width, text))


@given(LINES, st.integers(0, 170), st.integers(0, 170))
def test_underline_is_under_its_text(line: str, start: int, length: int) -> None:
    shown, indent, under = underlined(line, start, start + length)
    assert under >= 1
    assert columns(shown) <= COLUMNS + 2
    assert indent + under <= COLUMNS + 2
    marked = line[start : start + length].rstrip()
    if columns(line.replace("\t", " " * 4)) <= COLUMNS and "\t" not in line and marked and width(marked[0]):
        assert indent == columns(clean(line[:start]))
        assert under >= columns(clean(marked))


@given(st.integers(0, 400), st.integers(1, 30))
def test_long_line_is_cut_around_what_is_meant(before: int, length: int) -> None:
    line = "x" * before + "Y" * length + "z" * 300
    shown, indent, under = underlined(line, before, before + length)
    assert shown[indent : indent + under] == "Y" * length
    assert shown.startswith("…") == (before + length > COLUMNS)
    assert shown.endswith("…")


@pytest.mark.parametrize(
    ("character", "expected"),
    [("a", 1), ("é", 1), ("名", 2), ("\uff21", 2), ("😀", 2), ("\u0301", 0), ("\u200d", 0), ("\ufe0f", 0), ("ｱ", 1)],
)
def test_width(character: str, expected: int) -> None:
    assert width(character) == expected


@given(st.text(st.characters()))
def test_clean_text_can_be_printed(text: str) -> None:
    shown = clean(text)
    assert len(shown) == len(text)
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert {unicodedata.category(character) for character in shown if character not in "\t\n"}.isdisjoint(
        ("Cc", "Cs", "Zl", "Zp")
    )
