"""Any JSON a client may send is a request or a Problem, never a fault of ours."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.sim.ask import Ask, Problem, chat, completion, native
from launcher.sim.text import reply

SCALARS = st.none() | st.booleans() | st.integers(-3, 40_000) | st.floats() | st.text(max_size=12)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner))
PROMPTS = st.text(max_size=20) | st.lists(st.integers(0, 9), min_size=1) | st.lists(st.text(max_size=5), min_size=1)
MESSAGE = st.fixed_dictionaries({"role": st.just("user"), "content": st.none() | st.text(max_size=20) | VALUES})
NAMES = st.sampled_from(
    [
        *(
            "model",
            "prompt",
            "text",
            "input_ids",
            "messages",
            "stream",
            "stream_options",
            "sampling_params",
            "stop",
            "n",
        ),
        *("max_tokens", "max_completion_tokens", "max_new_tokens", "min_tokens", "min_new_tokens", "ignore_eos"),
    ]
)
OPTIONS = st.dictionaries(NAMES, VALUES, max_size=5)
GOOD = st.fixed_dictionaries(
    {"prompt": PROMPTS, "text": PROMPTS, "messages": st.lists(MESSAGE, min_size=1, max_size=3)}
)


@pytest.mark.parametrize("read", [completion, chat, native])
@given(GOOD, OPTIONS)
def test_any_body(read: Callable[[Mapping[str, Any]], Ask], good: dict[str, Any], more: dict[str, Any]) -> None:
    try:
        ask = read({**good, **more})
    except Problem as problem:
        assert problem.status == 400
        return
    assert ask.prompts
    assert all(1 <= len(reply(prompt, ask.limits).pieces) <= 32768 for prompt in ask.prompts)


@pytest.mark.parametrize("read", [completion, chat, native])
@given(GOOD)
def test_what_is_good_is_taken(read: Callable[[Mapping[str, Any]], Ask], good: dict[str, Any]) -> None:
    texts = [message["content"] is None or isinstance(message["content"], str | list) for message in good["messages"]]
    if read is chat and not all(texts):
        return
    assert read(good).count == 1
