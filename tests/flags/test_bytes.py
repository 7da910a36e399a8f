"""Values reach an engine as they were written, whatever is in them: parsed back by its own parser."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from launcher.model.catalogue import Catalogue, faults, load, spell
from tests.flags.real import Real
from tests.flags.test_real import FLAGS, engine

ODD = ("", "-", "--", "-x", "--port=1", "a b", '"', "'", "\\", "$HOME", "\n", "ü\u2028", "None", "{}", "a,b", "[1]")
TEXT = st.text(max_size=12) | st.sampled_from(ODD)
JSON = st.recursive(
    TEXT | st.integers(-(2**53), 2**53) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
ENGINES = [engine("vllm", "0.33.0"), engine("vllm", "0.20.2"), engine("sglang", "0.5.23"), engine("sglang", "0.5.9")]
TEXTS = ("chat-template", "served-model-name", "revision")
"""Flags of text that all of them have."""
TABLES = {"vllm": "additional-config", "sglang": "preferred-sampling-params"}
"""A flag of each that takes any object."""


class Asked(NamedTuple):
    """An engine's parser, and our catalogue of it."""

    real: Real
    catalogue: Catalogue

    def arrives(self, key: str, value: Any) -> Any:
        """What the engine has for the flag. A value that cannot be carried, or is a word of its own, is no example."""
        flag = self.catalogue.find(key)
        assert flag is not None
        items = value if isinstance(value, list) else [value]
        assume(not any(item in flag.also for item in items) and not list(faults(flag, value)))
        answer = self.real.ask(spell(self.catalogue, {key: value}), flag.name)
        assert answer["taken"], answer
        return answer["value"]


@pytest.fixture(scope="module", params=ENGINES, ids=lambda one: f"{one.program}-{one.version}")
def asked(request: pytest.FixtureRequest) -> Iterator[Asked]:
    one = request.param
    catalogue = load((FLAGS / one.program / f"{one.version}.json").read_text(encoding="utf-8"))
    with Real(one.words, one.order(), one.base) as real:
        yield Asked(real, catalogue)


def test_any_text_arrives(asked: Asked) -> None:
    @settings(max_examples=200, database=None)
    @given(st.sampled_from(TEXTS), TEXT, st.lists(TEXT, min_size=1, max_size=3))
    def arrives(key: str, one: str, many: list[str]) -> None:
        several = asked.catalogue.flags[f"--{key}"].arity in ("+", "*")
        value = many if several else one
        assert asked.arrives(key, value) == value

    arrives()


def test_any_table_arrives(asked: Asked) -> None:
    key = TABLES[asked.catalogue.program]

    @settings(max_examples=200, database=None)
    @given(st.dictionaries(TEXT, JSON, max_size=4))
    def arrives(value: Mapping[str, Any]) -> None:
        assert asked.arrives(key, value) == value

    arrives()
