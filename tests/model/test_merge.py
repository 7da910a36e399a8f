"""The one merge rule as properties, and the chains it leaves."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from launcher.model.merge import Layer, Removal, below, merge, prune
from launcher.model.spelling import program_key, recipe_key, role_key
from launcher.text.document import Document, KeyPath
from tests.jobs import shipped
from tests.model.shelf import catalogue

KEYS = st.sampled_from(["a", "b", "c", "a-b", "a_b"])
LEAVES = st.one_of(st.integers(0, 3), st.booleans(), st.text(max_size=2), st.lists(st.integers(0, 3), max_size=2))
TABLES = st.recursive(
    st.dictionaries(KEYS, LEAVES, max_size=3),
    lambda inner: st.dictionaries(KEYS, inner | LEAVES, max_size=3),
    max_leaves=8,
)


def layer(data: Mapping[str, Any], name: str = "layer") -> Layer:
    return Layer(name, Document(f"{name}.toml", "", data), data)


def merged(*tables: Mapping[str, Any]) -> dict[str, Any]:
    return merge(map(layer, tables)).data()


def plainly(under: Any, over: Any) -> Any:
    """The rule, said again: tables merge, everything else replaces."""
    if isinstance(under, dict) and isinstance(over, dict):
        return {**under, **{key: plainly(under[key], value) if key in under else value for key, value in over.items()}}
    return over


def at(data: Any, path: KeyPath) -> Any:
    for part in path:
        data = data[part]
    return data


@given(st.lists(TABLES, max_size=4))
def test_layers_merge_as_the_rule_says(tables: list[dict[str, Any]]) -> None:
    expected: Any = {}
    for table in tables:
        expected = plainly(expected, table)
    assert merged(*tables) == expected


@given(TABLES)
def test_a_table_merged_over_itself_is_itself(table: dict[str, Any]) -> None:
    assert merged(table, table) == merged(table) == table


@given(st.lists(TABLES, max_size=4))
def test_every_key_has_a_chain_that_ends_with_its_value(tables: list[dict[str, Any]]) -> None:
    found = merge(layer(table, str(index)) for index, table in enumerate(tables))
    data, chains = found.data(), found.chains()
    for path, chain in chains.items():
        if path:
            winner = chain[-1]
            value = at(data, path)
            assert isinstance(value, dict) or at(winner.document.data, winner.path) == value
            names = [int(origin.layer) for origin in chain]
            assert names == sorted(set(names))
    assert set(chains) - {()} == set(paths(data))


def paths(value: Any, path: KeyPath = ()) -> list[KeyPath]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in pairs for found in ((*path, key), *paths(item, (*path, key)))]


@given(st.lists(TABLES, min_size=1, max_size=3), KEYS, KEYS)
def test_a_removed_key_is_gone_and_nothing_else(tables: list[dict[str, Any]], first: str, second: str) -> None:
    document = Document("--unset", "", {})
    layers, absent = prune([*map(layer, tables), Removal(document, (first, second))])
    before, after = merged(*tables), merge(layers).data()
    there = any(isinstance(table.get(first), dict) and second in table[first] for table in tables)
    assert bool(absent) is not there
    if isinstance(before.get(first), dict):
        before[first].pop(second, None)
    assert after == before


def test_removal_counts_for_what_is_below_it_only() -> None:
    document = Document("--unset", "", {})
    layers, absent = prune([layer({"a": 1, "b": 2}), Removal(document, ("a",)), layer({"a": 3})])
    assert merge(layers).data() == {"b": 2, "a": 3}
    assert absent == []


def test_kinds_replace_each_other() -> None:
    assert merged({"a": {"b": 1}}, {"a": 2}) == {"a": 2}
    assert merged({"a": 2}, {"a": {"b": 1}}) == {"a": {"b": 1}}
    assert merged({"a": {"b": 1}}, {"a": 2}, {"a": {"c": 3}}) == {"a": {"c": 3}}
    assert merged({"a": [{"b": 1}]}, {"a": [{"c": 2}]}) == {"a": [{"c": 2}]}


def test_spellings_of_one_flag_are_one_key_and_the_last_is_kept() -> None:
    found = merge([layer({"flags": {"max_len": 1, "x": 0}}, "low"), layer({"flags": {"max-len": 2}}, "high")], role_key)
    assert found.data() == {"flags": {"max-len": 2, "x": 0}}
    assert [(origin.layer, origin.path) for origin in found.chains()["flags", "max-len"]] == [
        ("low", ("flags", "max_len")),
        ("high", ("flags", "max-len")),
    ]
    assert found.twice == []


def test_spellings_count_only_for_the_flags_of_a_role() -> None:
    tables = {"env": {"a-b": 1, "a_b": 2}, "flags": {"json": {"a-b": 1, "a_b": 2}}}
    found = merge([layer(tables)], role_key)
    assert (found.data(), found.twice) == (tables, [])


def test_names_of_one_flag_are_one_key() -> None:
    identity = program_key(catalogue("1.0"), shipped("vllm"))
    found = merge(
        [layer({"flags": {"tensor-size": 1, "cache": True}}), layer({"flags": {"tp": 2, "no-cache": True}})], identity
    )
    assert found.data() == {"flags": {"tp": 2, "no-cache": True}}
    tables = [{"config": {"tensor-size": 1}}, {"config": {"tp": 2}}]
    # Those of TensorRT-LLM's file are names of their own.
    assert merge(map(layer, tables), identity).data() == {"config": {"tp": 2}}
    own = program_key(catalogue("1.0"), shipped("trtllm"))
    assert merge(map(layer, tables), own).data() == {"config": {"tensor-size": 1, "tp": 2}}


def test_a_preamble_is_a_text_or_a_file() -> None:
    found = merge([layer({"setup": "a"}), layer({"setup_file": "b"}), layer({"setup": "c"})], role_key)
    assert found.data() == {"setup": "c"}
    assert merge(
        [layer({"defaults": {"setup": "a"}}), layer({"defaults": {"setup_file": "b"}})], recipe_key
    ).data() == {"defaults": {"setup_file": "b"}}


def test_below_looks_into_layers() -> None:
    recipe = layer({"roles": {"worker": {"gpus": 1}}}, "recipe")
    word = layer({"roles": {"worker": {"gpus": 2}}}, "--set")
    found = list(below([recipe, word, layer({"roles": 1}), layer({})], ("roles", "worker"), "[roles.worker]"))
    assert [(one.name, one.path, one.data) for one in found] == [
        ("[roles.worker]", ("roles", "worker"), {"gpus": 1}),
        ("--set", ("roles", "worker"), {"gpus": 2}),
    ]
