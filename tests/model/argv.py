"""A program's side of the bargain: argparse, fed as a kernel would feed it."""

import argparse
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from launcher.model.catalogue import Catalogue, Flag

LONGEST = 128 * 1024


class Rejected(Exception):
    """The program would not have started, or would have ended with a usage error."""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise Rejected(message)


def parser(catalogue: Catalogue) -> Parser:
    """An argparse parser that takes what the catalogue says."""
    made = Parser(allow_abbrev=catalogue.prefixes)
    owner: dict[str, Any] = {}
    for group in catalogue.exclusive:
        owner |= dict.fromkeys(group, made.add_mutually_exclusive_group())
    for flag in catalogue.flags.values():
        add(owner.get(flag.name, made), flag)
    return made


def add(parent: Any, flag: Flag) -> None:
    if flag.negatives:
        parent.add_argument(*flag.spellings, action=argparse.BooleanOptionalAction)
    elif flag.kind == "bool":
        parent.add_argument(*flag.spellings, action="store_true")
    else:
        action = {"last": "store", "append": "append", "extend": "extend"}[flag.repeat]
        choices = flag.choices or None
        # A flag that may stand without its value tells the two apart: `true` in a recipe is the bare one.
        bare = {"const": True} if flag.arity == "?" else {}
        parent.add_argument(
            *flag.spellings, action=action, nargs=flag.arity, type=reader(flag), choices=choices, **bare
        )


def reader(flag: Flag) -> Callable[[str], Any]:
    """What argparse's `type` would be."""
    readers: dict[str, Callable[[str], Any]] = {"str": str, "int": int, "float": float, "json": json.loads}
    plain = readers[flag.kind]

    def one(text: str) -> Any:
        value = plain(text.lower() if flag.folded else text)
        if flag.pattern and not re.fullmatch(flag.pattern, text):
            raise argparse.ArgumentTypeError(text)
        if flag.minimum is not None and not value >= flag.minimum:
            raise argparse.ArgumentTypeError(text)
        if flag.maximum is not None and not value <= flag.maximum:
            raise argparse.ArgumentTypeError(text)
        return value

    separator = flag.joined
    if separator is None:
        return one
    return lambda text: [one(item.strip()) for item in text.split(separator) if item.strip()]


def parse(program: argparse.ArgumentParser, words: Sequence[str], flag: Flag) -> Any:
    """What the program understands by `words` for `flag`. Raises Rejected for what execve or argparse refuses."""
    for word in words:
        if "\0" in word or len(word.encode()) >= LONGEST:
            raise Rejected("execve")
    action = program._option_string_actions[flag.name]
    try:
        return getattr(program.parse_args(list(words)), action.dest)
    except SystemExit as left:
        raise Rejected from left


def meant(flag: Flag, value: Any) -> Any:
    """What the writer of `value` wants the program to have."""
    if flag.joined is not None and flag.kind == "str" and isinstance(value, str):
        return [item.strip() for item in value.split(flag.joined) if item.strip()]
    if flag.joined is not None:
        bare = value is True and flag.arity == "?"
        return value if bare or isinstance(value, list | str) else [value]
    if flag.repeat == "append":
        return [shaped(flag, use) for use in (value if isinstance(value, list) else [value])]
    return shaped(flag, value)


def shaped(flag: Flag, value: Any) -> Any:
    if flag.arity in (None, "?"):
        return leaf(flag, value)
    return [leaf(flag, item) for item in (value if isinstance(value, list) else [value])]


def leaf(flag: Flag, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return json.loads(value) if flag.kind == "json" else value.lower() if flag.folded else value


def alike(flag: Flag, one: Any, other: Any) -> bool:
    """Equality that tells 1 from True and "1", and knows that a float flag makes floats of whole numbers."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(alike(flag, a, b) for a, b in zip(one, other, strict=True))
    if flag.kind == "float" and type(other) is int:
        other = float(other)
    return repr(one) == repr(other)
