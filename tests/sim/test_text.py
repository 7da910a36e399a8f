"""What the simulated model answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.sim.text import Limits, Reply, reply, words

CASES = [
    ("a b c", Limits(), ("a", " b", " c"), "stop"),
    ("a b c", Limits(most=2), ("a", " b"), "length"),
    ("a b c", Limits(most=3), ("a", " b", " c"), "length"),
    ("a b c", Limits(most=9), ("a", " b", " c"), "stop"),
    ("a b", Limits(most=5, ignore_end=True), ("a", " b", " a", " b", " a"), "length"),
    ("a b", Limits(ignore_end=True), ("a", " b"), "stop"),
    ("a b", Limits(least=3), ("a", " b", " a"), "stop"),
    ("", Limits(most=16), ("sim",), "stop"),
    ("a b c d", Limits(stop=("c",)), ("a", " b", " "), "stop"),
    ("a b c d", Limits(stop=("d", "b c")), ("a", " ", ""), "stop"),
    ("a b c d", Limits(most=2, stop=("c",)), ("a", " b"), "length"),
    ("a b", Limits(stop=("a",)), ("",), "stop"),
    ("a b", Limits(stop=("",)), ("a", " b"), "stop"),
]


@pytest.mark.parametrize(("prompt", "limits", "pieces", "reason"), CASES)
def test_reply(prompt: str, limits: Limits, pieces: tuple[str, ...], reason: str) -> None:
    assert reply(words(prompt), limits) == Reply(pieces, reason)


@given(st.lists(st.text("ab", min_size=1), max_size=20), st.integers(1, 40), st.booleans(), st.lists(st.text("ab ")))
def test_reply_keeps_its_limits(prompt: list[str], most: int, ignore_end: bool, stop: list[str]) -> None:
    made = reply(prompt, Limits(most, 0, ignore_end, tuple(stop)))
    assert 1 <= len(made.pieces) <= most
    assert not any(word and word in made.text for word in stop)
    assert made.reason == "stop" or len(made.pieces) == most
