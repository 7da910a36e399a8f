"""What is said of a text that is no TOML, and where."""

import pytest

from launcher.text.diagnostic import Diagnostic, Refused
from launcher.text.parse import parse
from launcher.text.syntax import diagnose


def finding(text: str) -> Diagnostic:
    with pytest.raises(Refused) as raised:
        parse("f.toml", text)
    (only,) = raised.value.diagnostics
    return only


def marked(text: str, found: Diagnostic) -> str:
    """`text` with the place in `«»` and labels in `⟦⟧`."""
    assert found.place is not None
    marks = [(found.place.span(), "«", "»"), *((label.place.span(), "⟦", "⟧") for label in found.labels)]
    for span, left, right in sorted(marks, key=lambda mark: -mark[0].start):
        text = text[: span.start] + left + text[span.start : span.end] + right + text[span.end :]
    return text


QUOTES = "text stands in quotes"
LINE = "nothing more may stand on the line here"
UNCLOSED = "a text is not closed"
BRACKET = "expected `,` or the closing bracket here"
KEY = "expected a key here"
TITLE = "expected `]` after the name of the table"

CASES: list[tuple[str, str]] = [
    ("a = «foo»", "`foo` is no TOML value"),
    ("a = «True»", "`True` is no TOML value"),
    ("x = 1\r\na = «no-such»\r\n", "`no-such` is no TOML value"),
    ("«名» = 1", KEY),
    ("a = «»", "a value is missing here"),
    ("a =«\n»b = 1", "a value is missing here"),
    ("a =«\r»\nb = 1", "a value is missing here"),
    ("a = 1 «2»", LINE),
    ("a = 'it'«s»'", LINE),
    ("a = 0«1»", LINE),
    ("a «b» = 1", "expected `=` after the key"),
    ("a«»", "expected `=` after the key"),
    ("«=» 1", KEY),
    ("[«]»", KEY),
    ("a.«»", KEY),
    ("[a«»", TITLE),
    ("[a «b»]", TITLE),
    ("[[a«]»", TITLE),
    ("a = ⟦[⟧1,\n  [2, 3]\n«b» = 1", BRACKET),
    ("a = ⟦[⟧[1], # ]\n«»", BRACKET),
    ("a = ⟦{⟧ b = 1 «c» = 2 }", BRACKET),
    ("a = [⟦[⟧«»", BRACKET),
    ('a = ⟦"⟧x«\n»', UNCLOSED),
    ('a = ⟦"⟧x«\r»\nb = "y"', UNCLOSED),
    ("a = ⟦'⟧x«\n»b = 1", UNCLOSED),
    ("a = ⟦'⟧x«\n»b = 'y'", UNCLOSED),
    ("a = '''b'''\nc = ⟦'⟧''x\n«»", UNCLOSED),
    ('# "\na = ⟦"⟧""x\n\\"""«»', UNCLOSED),
    ('⟦"⟧a«\n»" = 1', UNCLOSED),
    ('a = "«\x07»"', "the control character U+0007 cannot stand here"),
    ("a = 1 # «\x1b»", "the control character U+001B cannot stand here"),
    (r'a = "C:«\m»odels"', r"`\m` is no escape that TOML knows here"),
    (r'a = "«\u»12G4"', r"`\u` is no escape that TOML knows here"),
    (r'a = "«\u»d800"', r"`\u` is no escape that TOML knows here"),
    ("a = «2»024-02-31", "no such date or time"),
    ("«\ufeff»a = 1", "a byte-order mark comes first"),
    ("⟦a⟧ = 1\nb = 2\n«a» = 3\nc =", "`a` is set twice"),
    ("[⟦a⟧]\n[b]\r\n[«a»]", "`a` is set twice"),
    ("[x]\n⟦'a b'⟧.c = 1\n[x.«'a b'»]", '`x."a b"` is set twice'),
    ("a.⟦b⟧ = 1\r\n[a.«b».c]", "`a.b` is set twice"),
]


@pytest.mark.parametrize(("where", "message"), CASES, ids=[repr(text) for text, _ in CASES])
def test_place_and_message(where: str, message: str) -> None:
    text = where.translate(dict.fromkeys(map(ord, "«»⟦⟧")))
    found = finding(text)
    assert (found.code, found.message) == ("toml-syntax", message)
    assert marked(text, found) == where


HELP: list[tuple[str, str]] = [
    ("a = foo", "text stands in quotes"),
    ("a = True", "TOML writes it `true`"),
    ("a = null", "TOML has no null: leave the key out"),
    ("a = ", 'an empty text is `""`'),
    (r'a = "C:\m"', r"write `\\` for a backslash, or put the text in single quotes, where nothing is escaped"),
    ("a = 1\na = 2", "keep one of them"),
    ("a+b = 1", "write `key = value`, or `[table]` for a table"),
    ("ä = 1", "a key of other characters than A-Z a-z 0-9 _ - stands in quotes"),
]


@pytest.mark.parametrize(("text", "help_"), HELP)
def test_help(text: str, help_: str) -> None:
    assert finding(text).help == help_


@pytest.mark.parametrize("text", ["a.b = 1\n[a]\nc.d = 1\n[a.c]", "[a]\nb = [{ c = 1 }]\n[a.b.c]"])
def test_every_other_conflict_has_a_place(text: str) -> None:
    place = finding(text).place
    assert place is not None and place.offset is not None


def test_error_without_position_concerns_the_whole_document() -> None:
    document = parse("f.toml", "a = 1")
    found = diagnose(document, ValueError("Something new"))
    assert found.message == "not TOML: Something new"
    assert found.place is not None and found.place.whole


def test_words_that_are_new_to_us_are_passed_on() -> None:
    document = parse("f.toml", "a = 1\nb = 2")
    found = diagnose(document, ValueError("Something new (at line 2, column 3)"))
    assert found.message == "something new"
    assert marked(document.text, found) == "a = 1\nb «=» 2"
