"""Scripts travel as JSON and lose nothing; late references are bound everywhere."""

import json
from dataclasses import MISSING, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.run.script import (
    Budgets,
    Child,
    Expect,
    File,
    Gate,
    Script,
    Stop,
    bind,
    dump,
    load,
    ref,
    shown,
    to_data,
)

words = st.text(max_size=8) | st.builds("{}{}".format, st.text(max_size=3), st.sampled_from([ref("run"), ref("ip", 0)]))
tuples = st.lists(words, max_size=3).map(tuple)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
seconds = st.floats(0.0, 1e6)
expects = st.builds(
    Expect, words, values, st.none() | st.integers(), values, st.dictionaries(words, values, max_size=2)
)
gates = st.lists(
    st.builds(Gate, words, words, st.lists(expects, max_size=2).map(tuple), st.integers(), words, seconds, seconds),
    max_size=2,
).map(tuple)
children = st.builds(
    Child,
    words,
    words,
    tuples,
    env=st.dictionaries(words, words, max_size=2),
    env_from=tuples,
    after=tuples,
    gates=gates,
    lasting=st.booleans(),
    critical=st.booleans(),
    stop=st.builds(Stop, words, seconds),
    cwd=words,
    log=words,
)
scripts = st.builds(
    Script,
    words,
    tuples,
    st.lists(children, max_size=2).map(tuple),
    files=st.lists(st.builds(File, words, st.none() | words, values, st.integers()), max_size=2).map(tuple),
    ready=gates,
    budgets=st.builds(Budgets, seconds, seconds),
    inherit=tuples,
    last_words=st.lists(tuples, max_size=2).map(tuple),
    url=words,
)


@given(scripts)
def test_loading_gives_what_was_dumped(script: Script) -> None:
    assert load(dump(script)) == script
    assert dump(script).isascii()


KINDS: dict[tuple[str | int, ...], Any] = {
    (): Script,
    ("children", 0): Child,
    ("children", 0, "stop"): Stop,
    ("children", 0, "gates", 0): Gate,
    ("budgets",): Budgets,
}
DEFAULTS = [
    (path, field.name)
    for path, kind in KINDS.items()
    for field in fields(kind)
    if (field.default, field.default_factory) != (MISSING, MISSING) and field.name != "schema"
]


@pytest.mark.parametrize(("path", "field"), DEFAULTS, ids=str)
def test_what_an_earlier_release_did_not_know_has_its_default(path: tuple[str | int, ...], field: str) -> None:
    raw = json.loads(dump(Script("s", (), (Child("a", "a", ("true",), gates=(Gate("tcp", "http://x:1"),)),))))
    holder = raw
    for key in path:
        holder = holder[key]
    least = {Script: ("s", (), ()), Child: ("a", "a", ("true",)), Gate: ("tcp", "http://x:1")}
    kind = KINDS[path]
    holder[field] = to_data(getattr(kind(*least.get(kind, ())), field))
    wanted = load(json.dumps(raw))
    del holder[field]
    assert load(json.dumps(raw)) == wanted


@given(scripts)
def test_binding_leaves_no_mark_and_nothing_else_changed(script: Script) -> None:
    bound = bind(script, {"run": "/r", "ip0": "10.0.0.1"})
    assert not {"\ufdd0", "\ufdd1"} & set(str(to_data(bound)))
    assert bind(bound, {}) == bound
    text = dump(script).replace("\\ufdd0run\\ufdd1", "/r").replace("\\ufdd0ip0\\ufdd1", "10.0.0.1")
    assert bound == load(text)


def test_a_value_is_not_bound_again() -> None:
    assert bind(ref("run"), {"run": ref("ip", 0), "ip0": "x"}) == ref("ip", 0)


@pytest.mark.parametrize("value", [ref("host", 3), [ref("host", 3)], {ref("host", 3): 1}, (ref("host", 3),)])
def test_a_mark_without_a_slot_is_an_error(value: Any) -> None:
    with pytest.raises(KeyError, match="host3"):
        bind(value, {"host": "x"})


def test_shown() -> None:
    assert shown(f"http://{ref('ip', 0)}:1/{ref('run')}") == "http://{ip0}:1/{run}"
