"""Uses of flags, right and wrong, made from what a catalogue says: keys as people spell them, values of every kind."""

import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from launcher.model.catalogue import Catalogue, Flag

LONG = "x" * 131_072


class Use(NamedTuple):
    """A key of a recipe's `flags` with its value."""

    key: str
    value: Any


TEXTS = ("x", "a b", "", "-x", "--y", "1", "ü=1,2", "None", "{", '{"a": 1}', LONG, "a\0b")
NUMBERS: Sequence[Any] = (
    *(0, 1, -3, 2**40, 1.5, -0.5, True, False, [], [1], {"a": 1}),
    *("8", "eight", "", "None", "auto", "AUTO", "16k", "16K", "2.5k", "2.5K", "4Ki", "4M", "k", "1e3", " 7"),
)
SWITCHES: Sequence[Any] = (True, False, "true", "false", "", 1, 0, [], {"a": 1})
JSONS: Sequence[Any] = (
    *({}, {"zz": 1}, [], [1], 5, True, "{", "{}", '{"zz": 1}', "[1, 2]", "x", "", "None", "null"),
    *('{"a": 80g}', '{"a": "80g"}', {"a": {"b": [1, {}]}}),
)


def uses(catalogue: Catalogue, seed: int = 0) -> Iterator[Use]:
    """Every flag some ten times, and every field of its JSON."""
    dice = random.Random(seed)
    for flag in catalogue.flags.values():
        for key in keys(catalogue, flag, dice):
            yield Use(key, fine(catalogue.find(key) or flag, dice))
        values = list(candidates(flag))
        for value in dice.sample(values, min(5, len(values))):
            yield Use(flag.key, value)
        for choice in dice.sample(flag.choices, min(2, len(flag.choices))):
            yield from (Use(flag.key, choice), Use(flag.key, choice.upper()), Use(flag.key, choice.replace("_", "-")))
        yield from fields(catalogue, flag, dice)


def keys(catalogue: Catalogue, flag: Flag, dice: random.Random) -> Iterator[str]:
    """How people might write the flag: its spellings, one cut short, one misspelt, with underscores, in capitals."""
    spelt = [spelling.lstrip("-") for spelling in (*flag.spellings, *flag.negatives) if "=" not in spelling]
    yield from dict.fromkeys(spelt)
    key = flag.key
    at = dice.randrange(1, len(key)) if len(key) > 1 else 1
    yield from (key[:at], key[:at] + key[at + 1 :], key + "s")
    yield dice.choice([key.replace("-", "_"), key.replace("_", "-"), key.upper(), f"no-{key}", f"disable-{key}"])


def fine(flag: Flag, dice: random.Random) -> Any:
    """A value the flag takes."""
    if flag.kind == "bool":
        return True
    one = dice.choice(flag.choices) if flag.choices else right(flag, dice)
    return [one] * max(1, flag.arity) if isinstance(flag.arity, int) else [one] if flag.arity in ("+", "*") else one


def right(flag: Flag, dice: random.Random) -> Any:
    if flag.kind == "json":
        return {} if flag.shape is None or not flag.within else right_shape(flag, dice)
    return {"str": "x", "int": max(1, flag.minimum or 0), "float": 0.5}.get(flag.kind, "x")


def right_shape(flag: Flag, dice: random.Random) -> Any:
    return sample(flag.types, flag.types[flag.shape["is"]]["fields"].get(flag.within[0], "any"), dice)


def candidates(flag: Flag) -> Sequence[Any]:
    """Values to try: right and wrong ones for its kind."""
    if flag.kind == "bool":
        return SWITCHES
    if flag.kind in ("int", "float"):
        several = ([1, 2], [1, "x"], ["8"], []) if flag.arity in ("+", "*") or flag.joined else ()
        return (*NUMBERS, *several)
    if flag.kind in ("json", "mixed"):
        return JSONS
    return (*TEXTS, 5, True, False, [], ["a"], ["a", "-b"], ["a", ""], {"a": 1})


def fields(catalogue: Catalogue, flag: Flag, dice: random.Random) -> Iterator[Use]:
    """Each field of the class that the flag's JSON is read into: right, wrong, misspelt, by itself."""
    if not (isinstance(flag.shape, dict) and "is" in flag.shape):
        return
    for name, wanted in catalogue.types[flag.shape["is"]]["fields"].items():
        good, bad = sample(catalogue.types, wanted, dice), dice.choice(WRONG)
        yield from (Use(flag.key, {name: good}), Use(flag.key, {name: bad}), Use(flag.key, {name[:-1]: good}))
        if catalogue.dotted:
            yield from (Use(f"{flag.key}.{name}", good), Use(f"{flag.key}.{name[:-1]}", bad))


WRONG: Sequence[Any] = ("zz", "", 5, -1, 1.5, True, [], ["a"], [1], {}, {"zz": 1}, "8", "true")


def sample(types: Any, wanted: Any, dice: random.Random) -> Any:
    """A JSON value of the type."""
    if isinstance(wanted, list):
        return sample(types, dice.choice([each for each in wanted if each != "none"]), dice)
    if isinstance(wanted, str):
        return {"str": "x", "int": 3, "float": 0.5, "bool": True, "any": 1, "none": "x"}[wanted]
    ((form, inner),) = wanted.items()
    if form in ("one", "word", "open"):
        return dice.choice(inner)
    if form in ("int", "float"):
        return inner[0] if inner[0] is not None else inner[1]
    if form == "list":
        return [sample(types, inner, dice)]
    return {"a": sample(types, inner, dice)} if form == "map" else {}
