"""What is refused before a parser sees it, and what is not although it looks like it."""

import pytest

from launcher.text import limits
from launcher.text.diagnostic import Diagnostic, Refused
from launcher.text.document import Document
from launcher.text.parse import CODES, assignment, parse


def findings(text: str) -> list[Diagnostic]:
    try:
        parse("f.toml", text)
    except Refused as refused:
        return refused.diagnostics
    return []


def told(text: str) -> list[tuple[str, str, str]]:
    """Code, message and marked text of each finding."""
    rows = []
    for found in findings(text):
        assert found.place is not None
        span = found.place.span()
        rows.append((found.code, found.message, text[span.start : span.end]))
    return rows


DIGITS = "a number has more than 4300 digits"
BRACKETS = "brackets are nested deeper than 64"
PARTS = "a dotted key has more than 32 parts"
CLOSE = "the character U+FDD1 cannot be used"
LARGE = "a = '" + "x" * (limits.BYTES - 6) + "'"
WIDE = "a = '" + "名" * (limits.BYTES // 3) + "'"

REFUSED: list[tuple[str, str, list[tuple[str, str, str]]]] = [
    ("one byte", LARGE + " ", [("input-too-large", "1048577 bytes are more than the 1048576 that are read", "")]),
    ("bytes, not characters", WIDE, [("input-too-large", "1048581 bytes are more than the 1048576 that are read", "")]),
    ("digits", "a = " + "1" * 4301, [("input-too-large", DIGITS, "1" * 4301)]),
    ("spaced digits", "a = -1_" + "1" * 4300, [("input-too-large", DIGITS, "-1_" + "1" * 4300)]),
    ("brackets", "a = " + "[" * 65 + "]" * 65, [("input-too-deep", BRACKETS, "[")]),
    ("never closed", "a = " + "[" * 100_000, [("input-too-deep", BRACKETS, "[")]),
    ("tables", "a = " + "{ b = " * 65, [("input-too-deep", BRACKETS, "{")]),
    ("dots", ".".join("a" * 33) + " = 1", [("input-too-deep", PARTS, "a")]),
    ("quoted dots", " . ".join(["'a'"] * 32) + '. "b" = 1', [("input-too-deep", PARTS, '"b"')]),
    ("header", "[" + ".".join("a" * 500) + "]", [("input-too-deep", PARTS, "a")]),
    (
        "levels",
        "a = " + ("{ " + ".".join("b" * 30) + " = ") * 5 + "1" + " }" * 5,
        [("input-too-deep", "more than 128 tables and lists inside each other", "b")],
    ),
    ("open mark", "a = 1 # \ufdd0", [("reserved-character", "the character U+FDD0 cannot be used", "\ufdd0")]),
    ("close mark", "a = '\ufdd1'", [("reserved-character", CLOSE, "\ufdd1")]),
    ("nul", "a = '\0'", [("reserved-character", "the character U+0000 cannot be used", "\0")]),
    ("surrogate", "a = '\udcff'", [("reserved-character", "the character U+DCFF cannot be used", "\udcff")]),
    ("escape", 'b = "\\ufdd0"', [("reserved-character", "the character U+FDD0 cannot be used", '"\\ufdd0"')]),
    ("long escape", 'b = ["\\U0000FDD1"]', [("reserved-character", CLOSE, '"\\U0000FDD1"')]),
    ("escape in a key", '"\\u0000" = 1', [("reserved-character", "the character U+0000 cannot be used", '"\\u0000"')]),
    (
        "all at once",
        "a = 'x\0' # \ufdd0",
        [
            ("reserved-character", "the character U+0000 cannot be used", "\0"),
            ("reserved-character", "the character U+FDD0 cannot be used", "\ufdd0"),
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert told(text) == expected


ACCEPTED: list[tuple[str, str]] = [
    ("as large as allowed", LARGE),
    ("as many digits", "a = " + "1" * 4300),
    ("as deep as allowed", "a = " + "[" * 64 + "]" * 64),
    ("as many parts", ".".join("a" * 32) + " = 1"),
    ("brackets in a string", 'a = "' + "[" * 500 + '"'),
    ("brackets in a literal string", "a = '" + "{" * 500 + '"' + "'"),
    ("brackets in a long string", 'a = """\n' + '[\\"]"\n\'' * 500 + '"""'),
    ("brackets in a long literal string", "a = '''\n" + "['\"{\n" * 500 + "'''"),
    ("brackets in a comment", "a = 1 # " + "[" * 500 + '"\nb = 2'),
    ("brackets side by side", "a = [" + "[]," * 500 + "]"),
    ("dots in a string", 'a = "' + "a." * 500 + '"'),
    ("dots in a key that is quoted", '"' + "a." * 500 + '" = 1'),
    ("numbers in a row", "a = [" + "1.5, " * 500 + "]"),
    ("letters in a row", "a" * 5000 + " = 1"),
    ("escaped quotes", 'a = "' + '\\"[' * 500 + '"'),
    ("an escape that is text", "a = '\\ufdd0'"),
    ("an escaped backslash", 'a = "\\\\ufdd0"'),
]


@pytest.mark.parametrize("text", [row[1] for row in ACCEPTED], ids=[row[0] for row in ACCEPTED])
def test_accepted(text: str) -> None:
    assert told(text) == []


def test_large_input_is_looked_at_no_further() -> None:
    document = Document("f.toml", "\0" * (limits.BYTES + 1), {})
    assert [found.code for found in limits.before(document)] == ["input-too-large"]


@pytest.mark.parametrize(
    "text", ["a=\0", "a='\\0" + "\ufdd0'", "a=" + "[" * 65, "a=" + "x" * limits.BYTES, 'a="\\u0000"']
)
def test_words_of_the_command_line_have_the_same_limits(text: str) -> None:
    with pytest.raises(Refused) as raised:
        assignment(text)
    assert {found.place.document.name for found in raised.value.diagnostics if found.place} == {"--set"}


def test_findings_are_bounded() -> None:
    assert len(findings("a = 1 # " + "\0" * 1000)) == limits.FINDINGS


def test_codes_are_explained() -> None:
    told_codes = {code for _, _, rows in REFUSED for code, _, _ in rows}
    assert told_codes | {"toml-syntax", "yaml-syntax"} == set(CODES)


def test_notes_and_help() -> None:
    (found,) = findings("a = '\udcff'")
    assert (found.notes, found.help) == (("the bytes of the text are not UTF-8 here",), "save the text as UTF-8")
