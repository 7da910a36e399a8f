"""Catalogues: the file format, and which flag a recipe's key means."""

import json
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.model.catalogue import Catalogue, Flag, dump, load, spell, stand_in
from launcher.model.entry import KEYS
from launcher.model.recipe import FlagValue

FLAGS = Path(__file__).parents[2] / "manifests" / "flags"
SHIPPED = sorted(FLAGS.glob("*/*.json"))


def shipped(program: str, version: str) -> Catalogue:
    return load((FLAGS / program / f"{version}.json").read_text(encoding="utf-8"))


SMG = shipped("smg", "1.13.0")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_shipped_catalogues_are_as_dump_writes_them(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    catalogue = load(text)
    assert dump(catalogue) == text
    assert (catalogue.program, catalogue.version) == (path.parent.name, path.stem)
    assert catalogue.source
    assert all(flag.name == name and name in flag.spellings for name, flag in catalogue.flags.items())
    assert all(name in catalogue.flags for group in catalogue.exclusive for name in group)


WORD = st.text(min_size=1, max_size=5)
FLAG = st.builds(
    lambda name, aliases, **facts: Flag(name, (name, *aliases), **facts),
    WORD,
    st.lists(WORD, max_size=2),
    kind=st.sampled_from(["str", "int", "float", "bool", "json"]),
    arity=st.sampled_from([None, 1, 2, "?", "*", "+"]),
    repeat=st.sampled_from(["last", "append", "extend"]),
    negatives=st.lists(WORD, max_size=2).map(tuple),
    joined=st.none() | WORD,
    choices=st.lists(WORD, max_size=2).map(tuple),
    folded=st.booleans(),
    minimum=st.none() | st.integers(),
    snake=st.booleans(),
    known=st.lists(WORD, max_size=2).map(tuple),
    also=st.lists(WORD, max_size=2).map(tuple),
    suffixes=st.sampled_from([(), ("k m", "K")]),
    shape=st.sampled_from([None, "any", {"is": "T"}]),
    pattern=st.sampled_from(["", ".*"]),
    form=st.sampled_from(["", "any"]),
    apart=st.booleans(),
    deprecated=st.booleans(),
    retired=st.booleans(),
    instead=st.none() | WORD,
    default=st.none() | st.integers() | WORD,
)


@given(st.lists(FLAG, max_size=3), st.lists(st.lists(WORD).map(tuple), max_size=2).map(tuple), st.booleans(), WORD)
def test_load_reads_what_dump_wrote(
    flags: list[Flag], exclusive: tuple[tuple[str, ...], ...], prefixes: bool, source: str
) -> None:
    names = {flag.name: flag for flag in flags}
    catalogue = Catalogue("p", "1", names, exclusive, prefixes, source, prefixes, not prefixes, {"-O": "x"}, {"T": {}})
    for each in (catalogue, Catalogue("p", "1", names)):
        assert load(dump(each)) == each


FULL = json.loads((FLAGS / "smg" / "1.13.0.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("aliases", 3), ("choices", [3]), ("kind", None), ("kind", []), ("arity", "x"), ("pattern", "[")),
        *(("pattern", 3), ("minimum", "1"), ("folded", 1), ("instead", {}), ("repeat", "ever")),
    ],
)
def test_an_entry_that_no_flag_can_have_is_a_value_error(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"`{key}` of `--a` cannot be `"):
        load(json.dumps({**FULL, "flags": {"--a": {key: value}}}))


def test_every_part_of_a_flag_has_a_key() -> None:
    made = {"name", "spellings", "within", "types"}
    assert {*KEYS} == {"aliases", *(each.name for each in fields(Flag))} - made


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("[]", "not a flag catalogue of schema 1"),
        ("{}", "not a flag catalogue of schema 1"),
        ('{"schema": 2}', "not a flag catalogue of schema 1"),
        (json.dumps({**FULL, "flags": {"--a": {"knd": "int"}}}), "a flag has no knd"),
        (json.dumps({**FULL, "flags": []}), "a value in it is not of the type it should be"),
        (json.dumps({**FULL, "flags": {"--a": 1}}), "`--a` is no table"),
        (json.dumps({key: FULL[key] for key in FULL if key != "version"}), "it has no `version`"),
        ("{", "Expecting property name .*"),
    ],
)
def test_a_text_that_is_no_catalogue_is_a_value_error(broken: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(broken)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("policy", "--policy"),
        ("cache-threshold", "--cache-threshold"),
        ("cache-match-threshold", "--cache-threshold"),
        ("remove-unhealthy-workers", "--remove-unhealthy-workers"),
        ("worker-auto-recovery", "--remove-unhealthy-workers"),
        ("no-remove-unhealthy-workers", "--no-remove-unhealthy-workers"),
        ("no-worker-auto-recovery", "--no-remove-unhealthy-workers"),
        ("worker-url", "--worker-urls"),
        ("log-le", "--log-level"),
        ("polcy", None),
        ("retry", None),
        ("worker_urls", None),
        ("--policy", None),
        ("-policy", None),
        ("Policy", None),
        ("help", None),
        ("", None),
    ],
)
def test_a_key_means_what_the_program_would_take_it_for(key: str, name: str | None) -> None:
    found = SMG.find(key)
    assert (found and found.name) == name


def test_prefixes_count_only_where_the_program_takes_them() -> None:
    strict = Catalogue(SMG.program, SMG.version, SMG.flags, SMG.exclusive, prefixes=False)
    assert strict.find("worker-url") is None
    assert strict.find("worker-urls") is SMG.find("worker-urls")


@pytest.mark.parametrize(
    ("key", "suggestion"),
    [
        ("polcy", "policy"),
        ("--policy", "policy"),
        ("worker_urls", "worker-urls"),
        ("--worker_urls", "worker-urls"),
        ("Policy", "policy"),
        ("cache-treshold", "cache-threshold"),
        ("no-worker-auto-recvery", "no-worker-auto-recovery"),
        ("tensor-parallel-size", None),
        ("", None),
        ("-", None),
    ],
)
def test_suggestions_are_keys_as_a_recipe_spells_them(key: str, suggestion: str | None) -> None:
    assert SMG.suggest(key) == suggestion


FLEXIBLE = Catalogue(
    "p",
    "1",
    {
        flag.name: flag
        for flag in (
            Flag("--config", ("--config", "-cc"), kind="json", shape={"is": "Config"}),
            Flag("--level", ("--level",), kind="int", choices=("0", "3")),
            Flag("--tensor-size", ("--tensor-size", "-tp"), kind="int"),
            Flag("--tensor-shape", ("--tensor-shape",)),
            Flag("--enable-x", ("--enable-x",), kind="bool", negatives=("--disable-x", "--no-enable-x")),
            Flag("--no-y", ("--no-y",), kind="bool"),
            Flag("--y", ("--y",), kind="bool", negatives=("--no-y",)),
        )
    },
    prefixes=True,
    folds=True,
    dotted=True,
    glued={"-O": "level"},
    types={"Config": {"fields": {"mode": "int"}, "needs": [], "more": "refused"}},
)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("tensor_size", "--tensor-size"),
        ("tensor_si", "--tensor-size"),
        ("tensor", None),
        ("tp", "--tensor-size"),
        ("t", "--tensor-size"),
        ("config.mode", "--config.mode"),
        ("cc.mode.deep", "--config.mode.deep"),
        ("con.mode", "--config.mode"),
        ("config.", None),
        ("config.a..b", None),
        ("level.mode", None),
        ("O", "--level"),
        ("O3", "-O3"),
        ("O2", None),
        ("P3", None),
        ("disable_x", "--disable-x"),
        ("no-enable-x", "--disable-x"),
        ("no-y", "--no-y"),
        ("y", "--y"),
    ],
)
def test_a_key_of_a_flexible_program(key: str, name: str | None) -> None:
    found = FLEXIBLE.find(key)
    assert (found and found.name) == name


def test_a_spelling_that_is_a_flag_of_its_own_reverses_no_other() -> None:
    found = FLEXIBLE.find("no-y")
    assert found is not None
    assert found.negatives == ()


def test_fields_and_glued_values_become_words() -> None:
    flags: dict[str, FlagValue] = {"cc.mode": "3", "config.deep.er": {"a": [1, "ü"]}, "O3": True, "O": 3}
    assert spell(FLEXIBLE, flags) == ['--config.mode="3"', '--config.deep.er={"a":[1,"ü"]}', "-O3", "--level=3"]


def test_types_come_with_the_flags_that_name_them() -> None:
    found = FLEXIBLE.find("config")
    assert found is not None
    assert found.types is FLEXIBLE.types


@pytest.mark.parametrize(
    ("key", "alike"),
    [("Tensor_Size", "tensor-size"), ("tensorsize", "tensor-size"), ("level", "level"), ("levle", None)],
)
def test_the_same_letters_are_found_however_they_are_joined(key: str, alike: str | None) -> None:
    assert FLEXIBLE.alike(key) == alike


def test_both_spellings_of_a_switch_are_one_flag() -> None:
    on, off = SMG.find("worker-auto-recovery"), SMG.find("no-remove-unhealthy-workers")
    policy = SMG.find("policy")
    assert on and off and policy
    assert on.same(off) and off.same(on) and on.same(on)
    assert not on.same(policy)


def test_all_flags_are_spelt_in_their_order() -> None:
    flags: dict[str, FlagValue] = {
        "worker-url": ["http://h:1", "http://h:2"],
        "policy": "random",
        "no-worker-auto-recovery": True,
        "new": 1,
    }
    words = ["--worker-urls", "http://h:1", "http://h:2", "--policy=random", "--no-remove-unhealthy-workers", "--new=1"]
    assert spell(SMG, flags) == words
    assert spell(None, {"policy": "random", "new": 1}) == ["--policy=random", "--new=1"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("1.13.0", "1.13.0"),
        ("1.12.4", "1.11.0"),
        ("2.0", "1.13.0"),
        ("1.2.9", "1.2.0"),
        ("0.9", "1.2.0"),
        ("nightly", "1.2.0"),
        (None, "1.13.0"),
    ],
)
def test_another_version_stands_in(wanted: str | None, found: str) -> None:
    assert stand_in(wanted, ["1.11.0", "1.13.0", "1.2.0"]) == found


def test_nothing_stands_in_for_a_program_without_catalogues() -> None:
    assert stand_in("1.0", []) is None
