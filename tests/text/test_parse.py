"""Documents and words: what they mean, where it stands, and that nothing but Refused is ever raised."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.text.diagnostic import Refused
from launcher.text.document import Document, KeyPath, dotted
from launcher.text.parse import assignment, keypath, parse
from launcher.text.report import FORMATS

RECIPE = (Path(__file__).parents[2] / "recipes" / "quickstart.toml").read_text(encoding="utf-8")
PIECES = [
    *"[]{}=.,#\"'\\\n\r\t 019-+_eTZ:ax\0\x1b\x7f\x85\ufeff\ufdd0\ud800名😀\u2028",
    '"""',
    "'''",
    "\r\n",
    "[[",
    "]]",
]
PIECES += [
    "true",
    "inf",
    "0x",
    "1979-05-27",
    "\\u00e9",
    "\\ud800",
    "a.b",
    "= 1\n",
    "{ a = ",
    "[x]\n",
    "99999999999999999999",
]


def allowed(name: str, text: str) -> Document | None:
    """The document, or None if the text was refused in a way that can be told in every format."""
    try:
        document = parse(name, text)
    except Refused as refused:
        assert refused.diagnostics
        assert all(found.exit == 3 and found.place for found in refused.diagnostics)
        assert all(render(refused.diagnostics) for render in FORMATS.values())
        return None
    return document


@settings(max_examples=500)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    document = allowed("f.toml", text)
    if document:
        assert all(document.span((key,)).end > 0 for key in document.data)


@settings(max_examples=500)
@given(seed=st.integers(0, 2**64), count=st.integers(1, 4))
def test_mutated_recipe_is_parsed_or_refused(seed: int, count: int) -> None:
    random, text = Random(seed), RECIPE
    for _ in range(count):
        at, length = random.randrange(len(text) + 1), random.choice((0, 0, 1, 1, 5, 40))
        inserted = random.choice(("", *PIECES, text[at : at + 60]))
        text = text[:at] + inserted + text[at + length :]
    document = allowed("f.toml", text)
    if document:
        assert all(document.span((key,)).end > 0 for key in document.data)


@settings(max_examples=500)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_word_is_taken_or_refused(text: str) -> None:
    for read in (assignment, keypath):
        try:
            read(text)
        except Refused as refused:
            assert all(found.place for found in refused.diagnostics)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufdd0\ufdd1")))
def test_text_after_a_key_is_never_lost(text: str) -> None:
    quoted = assignment(f"a.b=x {text}")
    assert quoted.data == {"a": {"b": f"x {text}"}}


WORDS: list[tuple[str, Any]] = [
    ("a=1", {"a": 1}),
    ("a.b-c.d_e=1", {"a": {"b-c": {"d_e": 1}}}),
    ('a."b.c".\'d "e"\'=1', {"a": {"b.c": {'d "e"': 1}}}),
    ("a . b = 1", {"a": {"b": 1}}),
    ("a=true", {"a": True}),
    ("a=True", {"a": "True"}),
    ("a=1.13", {"a": 1.13}),
    ("a=1.13.0", {"a": "1.13.0"}),
    ("a=0x10", {"a": 16}),
    ("a=round_robin", {"a": "round_robin"}),
    ('a="1"', {"a": "1"}),
    ("a='x y'", {"a": "x y"}),
    ("a=[1, { b = 2 }]", {"a": [1, {"b": 2}]}),
    ("a=[1,\n 2, # two\n]", {"a": [1, 2]}),
    ("a={b.c = 1}", {"a": {"b": {"c": 1}}}),
    ('a="""x\ny"""', {"a": "x\ny"}),
    ("a=", {"a": ""}),
    ("a= x ", {"a": " x "}),
    ("a=it's", {"a": "it's"}),
    ('a={"a": 1}', {"a": '{"a": 1}'}),
    ("a=[1", {"a": "[1"}),
    ("a=1 # one", {"a": "1 # one"}),
    ("a=1\nb=2", {"a": "1\nb=2"}),
    ("a=b=c", {"a": "b=c"}),
    ("a=01:30:00", {"a": "01:30:00"}),
    ("a=2024-01-01 10:00:00", {"a": "2024-01-01 10:00:00"}),
    ("a=/models/名", {"a": "/models/名"}),
]


@pytest.mark.parametrize(("word", "data"), WORDS, ids=[word for word, _ in WORDS])
def test_assignment(word: str, data: Any) -> None:
    document = assignment(word)
    assert (document.name, document.text, document.data) == ("--set", word, data)


SPANS: list[tuple[str, KeyPath, str, str]] = [
    ("a . b= 7 ", ("a",), "a", "a"),
    ("a . b= 7 ", ("a", "b"), "b", "7"),
    ("a.'x y'=b c", ("a", "x y"), "'x y'", "b c"),
    ("a= b", ("a",), "a", " b"),
    ("a=", ("a",), "a", ""),
    ("a=[1, { b = 2 }]", ("a", 1), "{ b = 2 }", "{ b = 2 }"),
    ("a=[1, { b = 2 }]", ("a", 1, "b"), "b", "2"),
    ("a=[1", ("a", 0), "a", "a"),
]


@pytest.mark.parametrize(("word", "path", "key", "value"), SPANS, ids=[f"{row[0]} {row[1]}" for row in SPANS])
def test_places_in_a_word(word: str, path: KeyPath, key: str, value: str) -> None:
    document = assignment(word)
    spans = document.span(path, "key"), document.span(path)
    assert tuple(word[span.start : span.end] for span in spans) == (key, value)


@pytest.mark.parametrize(
    ("word", "path"), [("a", ("a",)), (" a . b-c ", ("a", "b-c")), ("a.\"b.c\".'d'", ("a", "b.c", "d"))]
)
def test_keypath(word: str, path: KeyPath) -> None:
    assert keypath(word) == path


HELP = "; the parts of KEY are joined by dots, and quoted if not of A-Z a-z 0-9 _ -"

FAULTS: list[tuple[Any, str, int, str, str]] = [
    (assignment, "a.b", 3, "expected `=` and a value after the key", "write `--set KEY=VALUE`" + HELP),
    (assignment, "a b=1", 2, "expected `=` and a value after the key", "write `--set KEY=VALUE`" + HELP),
    (assignment, "", 0, "expected a key here", "write `--set KEY=VALUE`" + HELP),
    (assignment, "=1", 0, "expected a key here", "write `--set KEY=VALUE`" + HELP),
    (assignment, "a..b=1", 2, "expected a key here", "write `--set KEY=VALUE`" + HELP),
    (assignment, 'a."\\q"=1', 2, "expected a key here", "write `--set KEY=VALUE`" + HELP),
    (assignment, "a.名=1", 2, "expected a key here", "write `--set KEY=VALUE`" + HELP),
    (keypath, "a.", 2, "expected a key here", "write `--unset KEY`" + HELP),
    (keypath, "a=1", 1, "expected nothing more after the key", "write `--unset KEY`" + HELP),
]


@pytest.mark.parametrize(("read", "word", "offset", "message", "help_"), FAULTS, ids=[row[1] for row in FAULTS])
def test_fault_in_a_word(read: Any, word: str, offset: int, message: str, help_: str) -> None:
    with pytest.raises(Refused) as raised:
        read(word)
    (found,) = raised.value.diagnostics
    assert (found.code, found.message, found.help) == ("toml-syntax", message, help_)
    assert found.place is not None
    assert (found.place.offset, found.place.document.text) == (offset, word)


def test_deep_recursion_is_a_finding() -> None:
    def deeper(text: str) -> Document:
        try:
            return deeper(text)
        except RecursionError:
            return parse("f.toml", text)

    # At the limit of the stack each frame tries: the first few have no room for the parser.
    with pytest.raises(Refused) as raised:
        deeper("a = " + "[" * 60 + "]" * 60)
    assert [found.code for found in raised.value.diagnostics] == ["input-too-deep"]


@given(st.lists(st.text(st.characters(exclude_characters="\0\ufdd0\ufdd1", exclude_categories=["Cs"])), min_size=1))
def test_dotted_is_read_back_by_unset(parts: list[str]) -> None:
    path = tuple(parts[:32])
    assert keypath(dotted(path)) == path
