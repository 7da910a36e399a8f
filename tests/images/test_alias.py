"""Aliases in the text of a cluster file: nothing else of it changes."""

import tomllib
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from launcher.images.alias import begun, put, removed

SITE = """\
# a site
schema = 1   # of the format
name = "site"

[images] # what names mean
vllm = "docker.io/vllm/vllm-openai:v0.33.0"   # the usual
# the next one is old
smg = { reference = "docker.io/lightseekorg/smg:v1.13.0", versions = { smg = "1.13.0" } } # keep

[models]
qwen = "/models/qwen" # last
"""

NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,8}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
ENTRIES: st.SearchStrategy[Any] = TEXTS | st.fixed_dictionaries(
    {"reference": TEXTS},
    optional={
        "aarch64": TEXTS,
        "baked": st.fixed_dictionaries({"env": st.lists(TEXTS, max_size=2)}),
        "versions": st.dictionaries(NAMES, TEXTS, min_size=1, max_size=2),
    },
)
COMMENTS = st.sampled_from(["", "# a comment\n", "\n", "\n# a = 1\n\n"])


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A cluster file with comments between its lines, and its aliases."""
    aliases = draw(st.dictionaries(NAMES, TEXTS, max_size=4))
    form = draw(st.sampled_from(["table", "dotted", "inline", "below"]))
    pairs = [(name, _text(value)) for name, value in aliases.items()]
    lines = [f'{draw(COMMENTS)}"{name}" = {value} # {number}\n' for number, (name, value) in enumerate(pairs)]
    if form == "dotted":
        lines = [f'{draw(COMMENTS)}images."{name}" = {value}\n' for name, value in pairs]
    if form == "inline":
        inner = ", ".join(f'"{name}" = {value}' for name, value in pairs)
        lines = [f"images = {{ {inner} }} # inline\n"]
    if form == "below":
        lines = [f'{draw(COMMENTS)}[images."{name}"]\nreference = {value} # r\n' for name, value in pairs]
    head = "[images]\n" if form == "table" else ""
    after = draw(st.sampled_from(["", "\n[models]\nqwen = '/m' # m\n", "[node] # shape\ngpus = 4\n"]))
    before = "schema = 1 # s\nname = 'x'\n"
    if form in ("dotted", "inline"):
        return before + "".join(lines) + after, aliases
    return before + draw(COMMENTS) + head + "".join(lines) + after, aliases


def _text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\x7f", "\\u007f") + '"'


@given(documents(), NAMES, ENTRIES)
def test_an_alias_is_put_and_all_else_stays(made: tuple[str, dict[str, Any]], alias: str, entry: Any) -> None:
    text, _ = made
    new = put(text, alias, entry)
    before, after = tomllib.loads(text), tomllib.loads(new)
    meant = {"reference": entry} if isinstance(entry, str) and f'[images."{alias}"]' in text else entry
    assert after.pop("images") == {**before.pop("images", {}), alias: meant}
    assert after == before
    # Every line but that of the alias is there still, in its order.
    left = iter(new.splitlines())
    kept = [line for line in text.splitlines() if f'"{alias}"' not in line and not _inside(line, text, alias)]
    assert "inline" in text or all(line in left for line in kept)


def _inside(line: str, text: str, alias: str) -> bool:
    """The lines of an alias that has a table of its own, or whose key goes without quotes."""
    return f'[images."{alias}"]' in text and line.startswith("reference")


@given(documents(), st.data())
def test_an_alias_is_taken_away_and_all_else_stays(made: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
    text, aliases = made
    assume(aliases)
    alias = data.draw(st.sampled_from(sorted(aliases)))
    new = removed(text, alias)
    before, after = tomllib.loads(text), tomllib.loads(new)
    before["images"].pop(alias)
    assert {**before, "images": before["images"]} == {"images": {}, **after}
    assert new.endswith("\n")
    assert [line for line in new.splitlines() if line[:1] == "#"] == [
        line for line in text.splitlines() if line[:1] == "#"
    ]


HEADINGS = """\
[images.vllm] # the usual
reference = "/v.sqsh"
[images.vllm.versions]
vllm = "0.33.0"

# the next one is old
[images.smg]
reference = "/s.sqsh"
"""


def test_what_stands_before_the_next_table_stays() -> None:
    rest = HEADINGS[HEADINGS.index("\n# the next") :]
    assert removed(HEADINGS, "vllm") == rest
    assert put(HEADINGS, "vllm", "/new.sqsh") == '[images.vllm] # the usual\nreference = "/new.sqsh"\n' + rest
    entry = {"reference": "/v.sqsh", "versions": {"vllm": "0.34.0"}}
    assert put(HEADINGS, "vllm", entry) == HEADINGS.replace("0.33.0", "0.34.0")


@pytest.mark.parametrize(
    ("alias", "entry", "old", "line"),
    [
        ("vllm", "/a.sqsh", '"docker.io/vllm/vllm-openai:v0.33.0"   # the usual', '"/a.sqsh"   # the usual'),
        (
            "smg",
            {"reference": "/s.sqsh", "versions": {"smg": "1.13.0"}},
            '{ reference = "docker.io/lightseekorg/smg:v1.13.0", versions',
            '{ reference = "/s.sqsh", versions',
        ),
    ],
)
def test_comments_and_spaces_of_the_line_stay(alias: str, entry: Any, old: str, line: str) -> None:
    assert put(SITE, alias, entry) == SITE.replace(old, line)


def test_a_new_alias_stands_after_the_others() -> None:
    assert '"1.13.0" } } # keep\nnew = "/n.sqsh"\n\n[models]' in put(SITE, "new", "/n.sqsh")


def test_a_file_that_says_nothing_yet() -> None:
    assert put(begun("x"), "a", "/a.sqsh") == 'schema = 1\nname = "x"\n\n[images]\na = "/a.sqsh"\n'
