"""How a program is made to tell its flags: what one grammar takes of another, and what was otherwise before."""

from typing import Any

import pytest

from launcher.model.grammar import Grammar, complete

OTHERS: dict[str, dict[str, Any]] = {
    "a": {"schema": 1, "name": "a", "module": ["a"], "needs": ["x", "y"], "folds": True, "answers": {"m": 1, "n": 1}},
    "b": {"schema": 1, "name": "b", "needs": ["y", "z"], "answers": {"n": 2}, "types": {"t": {"kind": "int"}}},
    "c": {"schema": 1, "name": "c", "like": ["a"]},
}


def test_tables_and_lists_of_others_lie_under_ones_own() -> None:
    own = {"schema": 1, "name": "own", "like": ["a", "b"], "chain": 2, "needs": ["w"], "answers": {"m": 3}}
    made = Grammar.model_validate(complete(own, OTHERS.get))
    assert (made.name, made.module, made.chain, made.folds) == ("own", [], 2, True)
    assert made.needs == ["x", "y", "z", "w"]
    assert made.answers == {"m": 3, "n": 2}
    assert made.types["t"].kind == "int"
    assert complete(OTHERS["a"], OTHERS.get) == OTHERS["a"]


@pytest.mark.parametrize(
    ("like", "why"), [(["d"], "`d` has no grammar of its own"), (["c"], "`c` is itself like another program")]
)
def test_one_is_like_what_has_all_it_says_itself(like: list[str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        complete({"like": like}, OTHERS.get)


@pytest.mark.parametrize(
    ("version", "kinds"), [("0.9.1", ["str", "float"]), ("0.10", ["int", "float"]), ("1.2.0rc1", ["int", "bool"])]
)
def test_older_versions_may_be_otherwise(version: str, kinds: list[str]) -> None:
    made = Grammar.model_validate(
        {
            "schema": 1,
            "name": "p",
            "types": {"t": {"kind": "int"}, "u": {"kind": "bool"}},
            "before": {"0.10": {"types": {"t": {"kind": "str"}}}, "1.2": {"types": {"u": {"kind": "float"}}}},
        }
    )
    assert [reading.kind for reading in made.of(version).types.values()] == kinds
