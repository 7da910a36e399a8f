"""Ours and theirs: a value is accepted exactly if the program's own argparse parser gives it back."""

import argparse
import importlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from launcher.model.catalogue import Catalogue, Flag, faults, load, words
from launcher.sim.parser import parser as simulator
from tests.model import argv
from tests.model.shapes import (
    APPEND,
    BOOL,
    CHOICE,
    EXTEND,
    FLOAT,
    FOLDED,
    INT,
    JOINED,
    JSON,
    NUMBERS,
    OFTEN,
    PAIR,
    PORT,
    SHARE,
    SOME,
    STORE,
    TEXT,
    flag,
)

FLAGS = Path(__file__).parents[2] / "manifests" / "flags"
OWN = ("aiperf", "dynamo.", "envoy", "epp", "pd-sidecar", "sglang/", "vllm/")
"""Programs that no plain argparse stands for; `tests/flags` asks the real parsers of those in Python."""
EVERY = sorted(f"{path.parent.name}/{path.stem}" for path in FLAGS.glob("*/*.json"))
SHIPPED = [name for name in EVERY if not name.startswith(OWN)]

# What TOML can say, of which every flag takes a part.
SCALARS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["", "-", "-x", "--f", "-1", "--", "a,b", " a", "cold", "COLD", "8", "\0", "[1]", "{", "none"]),
    st.integers(-3, 2**63 - 1),
    st.floats(),
    st.booleans(),
    st.dates(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)
FLAG = st.builds(
    flag,
    kind=st.sampled_from(["str", "str", "int", "float", "json"]),
    arity=st.sampled_from([None, None, "?", "*", "+", 1, 2]),
    repeat=st.sampled_from(["last", "append"]),
    minimum=st.none(),
) | st.sampled_from(
    [
        TEXT,
        INT,
        FLOAT,
        SHARE,
        PORT,
        BOOL,
        PAIR,
        JSON,
        CHOICE,
        FOLDED,
        JOINED,
        NUMBERS,
        STORE,
        SOME,
        EXTEND,
        APPEND,
        OFTEN,
    ]
)


def likely(given: Flag) -> st.SearchStrategy[Any]:
    """Values of the kind and shape the flag takes, mixed with any."""
    if given.kind == "bool":
        return st.booleans() | VALUES
    texts = st.sampled_from(given.choices) if given.choices else st.text(max_size=8) | st.sampled_from(["", "-x", "-1"])
    one: st.SearchStrategy[Any] = {
        "str": texts,
        "int": st.integers(-5, 2**63 - 1),
        "float": st.floats() | st.integers(-9, 9),
        "json": st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=4), max_size=3),
    }[given.kind]
    several = st.lists(one, max_size=3)
    if given.joined is not None or given.arity not in (None, "?"):
        one = one | several
    if given.repeat == "append":
        one = one | st.lists(one, max_size=3)
    return one | VALUES


def agree(program: argparse.ArgumentParser, given: Flag, value: Any) -> bool:
    """Whether ours accepts the value exactly if the program gives it back; False is a refusal by both.

    Three refusals of ours are kept out, since they hold for programs on newer Pythons too or cost nobody
    anything: the value `--`, a value of several that begins with a dash and has a space, and an infinite number
    where JSON is wanted (Python's reader takes it, the standard and other readers do not).
    """
    assume('"--"' not in json.dumps(value, default=str))
    found = list(faults(given, value))
    assume(not any("wants JSON" in fault.phrase and "no form there" in fault.phrase for fault in found))
    assume(not any("among others" in fault.phrase and " " in fault.phrase.split("`")[1] for fault in found))
    try:
        told = argv.parse(program, words(given, value), given)
    except argv.Rejected:
        back = False
    else:
        unsaid = not words(given, value)
        back = value == [] if unsaid else argv.alike(given, told, argv.meant(given, value))
    assert back is (not found), f"{given} {value!r}: {found}"
    return back


@settings(max_examples=300)
@given(FLAG.flatmap(lambda given: st.tuples(st.just(given), likely(given))))
def test_what_is_accepted_arrives_and_what_is_refused_would_not(drawn: tuple[Flag, Any]) -> None:
    given, value = drawn
    catalogue = Catalogue("any", "1", {given.name: given})
    agree(argv.parser(catalogue), given, value)


def smg() -> argparse.ArgumentParser:
    """The real router's own parser, of the version that is installed."""
    made = argv.Parser()
    importlib.import_module("smg.router_args").RouterArgs.add_cli_args(made)
    return made


USES = [
    pytest.param("smg/1.13.0", smg, 600, id="the real smg 1.13.0"),
    pytest.param("smg/1.13.0", smg, 5000, id="the real smg 1.13.0, many", marks=pytest.mark.heavy),
    pytest.param("sim/0.1.0", simulator, 200, id="the real sim"),
    *(pytest.param(name, None, 100, id=f"a parser of {name}") for name in SHIPPED),
]
CLOSER = ("--kv-transfer-config",)
"""Flags whose JSON the program reads closer than as JSON."""


@pytest.mark.parametrize(("name", "real", "uses"), USES)
def test_catalogue_and_parser_agree(
    name: str,
    real: Callable[[], argparse.ArgumentParser] | None,
    uses: int,
    request: pytest.FixtureRequest,
    figure: Callable[[str], None],
) -> None:
    """The program's own parser (`real`), or one built from the catalogue."""
    catalogue = load((FLAGS / f"{name}.json").read_text(encoding="utf-8"))
    program = real() if real else argv.parser(catalogue)
    counts: Counter[bool] = Counter()
    flags = st.sampled_from([flag for name, flag in sorted(catalogue.flags.items()) if name not in CLOSER])

    @settings(max_examples=uses, database=None)
    @given(flags.flatmap(lambda given: st.tuples(st.just(given), likely(given))))
    def agreed(drawn: tuple[Flag, Any]) -> None:
        counts[agree(program, *drawn)] += 1

    agreed()
    figure(f"{request.node.callspec.id}: {counts[True]} accepted and {counts[False]} refused by both, 0 disagree")
    assert counts[True] > 20
    assert counts[False] > 20
