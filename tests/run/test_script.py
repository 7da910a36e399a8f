"""Scripts travel as JSON and lose nothing; late references are bound everywhere."""

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
