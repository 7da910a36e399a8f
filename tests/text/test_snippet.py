"""What is underlined stands under what it is about, whatever the line holds."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.text.diagnostic import Diagnostic
from launcher.text.report import full
from launcher.text.snippet import BEFORE, COLUMNS, clean, underlined, width
from tests.text.sample import at

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


SNIPPETS: list[tuple[str, Diagnostic, str]] = [
    ("empty file", at("f", "", 0), " --> f:1:1\n  |\n1 |\n  | ^"),
    ("end of file", at("f", "a = [\n", 6), " --> f:2:1\n  |\n2 |\n  | ^"),
    ("no newline at the end", at("f", "a = [", 5), " --> f:1:6\n  |\n1 | a = [\n  |      ^"),
    ("past the end", at("f", "a = [", 99), " --> f:1:6\n  |\n1 | a = [\n  |      ^"),
    ("end of a line", at("f", "a =\r\nb", 3), " --> f:1:4\n  |\n1 | a =\n  |    ^"),
    ("carriage return", at("f", "a = 1\r\nb = 22\r\n", 11, 2), " --> f:2:5\n  |\n2 | b = 22\n  |     ^^"),
    ("tabs", at("f", "\ta\t= 1", 5), " --> f:1:6\n  |\n1 |     a   = 1\n  |           ^"),
    ("tab marked", at("f", "ab\tc", 2), " --> f:1:3\n  |\n1 | ab  c\n  |   ^^"),
    ("wide", at("f", "名前 = '日本'", 5, 4), " --> f:1:6\n  |\n1 | 名前 = '日本'\n  |        ^^^^^^"),
    ("emoji", at("f", "'😀' = x", 6), " --> f:1:7\n  |\n1 | '😀' = x\n  |        ^"),
    ("combining", at("f", "'e\u0301' = x", 7), " --> f:1:8\n  |\n1 | 'e\u0301' = x\n  |       ^"),
    ("escape", at("f", "a = '\x1b[31m'", 5), " --> f:1:6\n  |\n1 | a = '␛[31m'\n  |      ^"),
    ("direction", at("f", "a = '\u202ex'", 5), " --> f:1:6\n  |\n1 | a = '�x'\n  |      ^"),
    ("line 100", at("f", "\n" * 99 + "a", 99), "  --> f:100:1\n    |\n100 | a\n    | ^"),
    ("hidden in a name", at("a\n\x1b[2J", "a", 0), " --> a␊␛[2J:1:1\n  |\n1 | a\n  | ^"),
    (
        "end of a long line",
        at("f", "a = '" + "x" * 200 + "' !", 207),
        " --> f:1:208\n  |\n1 | …" + "x" * 22 + "' !\n  | " + " " * 25 + "^",
    ),
    (
        "whole long line",
        at("f", "a = '" + "x" * 200 + "'", 4, 202),
        " --> f:1:5\n  |\n1 | a = '" + "x" * 95 + "…\n  |     " + "^" * 96,
    ),
]


@pytest.mark.parametrize(("finding", "expected"), [row[1:] for row in SNIPPETS], ids=[row[0] for row in SNIPPETS])
def test_snippet(finding: Diagnostic, expected: str) -> None:
    assert full([finding]) == "error[c]: m\n" + expected


@given(st.integers(0, 300_000), st.integers(1, 300_000), st.sampled_from("x名\t"))
def test_a_huge_line_is_looked_at_near_what_is_meant(start: int, length: int, filler: str) -> None:
    line = filler * start + "Y" * length + "z" * 300_000
    shown, indent, under = underlined(line, start, start + length)
    assert columns(shown) <= COLUMNS + 2
    before = columns(line[:start].replace("\t", " " * 4))
    assert shown.startswith("…") is (before + length > COLUMNS and before > BEFORE)
    marked = shown[shown.index("Y") :].rstrip("…").rstrip("z")
    assert set(marked) == {"Y"} and under == len(marked)
    assert columns(shown[: shown.index("Y")]) == indent
