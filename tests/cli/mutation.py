"""Recipes with something wrong in them, by the thousand: the same for the same seed."""

import random
import re
from collections.abc import Callable, Iterator, Sequence

_VALUES = (
    "0", "-1", "99999999999999999999999", "1e400", "nan", "true", '""', '"x"', "'\\'", "[]", "{}", "[1, 'a']",
    "{ a = { b = 1 } }", "1979-05-27", '"""\n"""', '"\\ud800"', '"\\u0000"', '"{python}"', '"-"', "[[]]", '"64G"',
)  # fmt: skip
_KEYS = (
    "schema", "name", "model", "roles", "router", "kind", "manifest", "replicas", "gpus", "flags", "env", "env_from",
    "mounts", "image", "setup", "setup_file", "extends", "variants", "on", "ports", "shift", "public", "ready",
    "timeout", "allow",
    "defaults", "served_name", "path", "worker", "prefill", "decode", "polcy", "\"\"", "\"a b\"", "'ä'",
)  # fmt: skip
_NOISE = (
    "\x00",
    "\ufeff",
    "\ufdd0run\ufdd1",
    "\r",
    "\t",
    "\u2028",
    "é",
    "=",
    "[",
    "]",
    "{",
    '"',
    "'",
    "#",
    ".",
    ",",
    "\\",
)


def mutations(seeds: Sequence[str], count: int, seed: int = 0) -> Iterator[str]:
    """`count` texts, each one of `seeds` with one to three changes."""
    dice = random.Random(seed)
    for _ in range(count):
        text = dice.choice(seeds)
        for _ in range(dice.choice((1, 1, 1, 2, 3))):
            text = dice.choice(_CHANGES)(text, dice)
        yield text


def _cut(text: str, dice: random.Random) -> str:
    return text[: dice.randrange(len(text) + 1)]


def _delete(text: str, dice: random.Random) -> str:
    start = dice.randrange(len(text) + 1)
    return text[:start] + text[start + dice.randrange(1, 12) :]


def _insert(text: str, dice: random.Random) -> str:
    at = dice.randrange(len(text) + 1)
    return text[:at] + dice.choice(_NOISE) * dice.choice((1, 1, 1, 3, 200)) + text[at:]


def _line(text: str, dice: random.Random) -> str:
    lines = text.split("\n")
    at = dice.randrange(len(lines))
    change = dice.choice(("drop", "twice", "move", "new"))
    line = lines.pop(at) if change in {"drop", "move"} else lines[at]
    if change != "drop":
        new = f"{_key(dice)} = {dice.choice(_VALUES)}" if change == "new" else line
        lines.insert(dice.randrange(len(lines) + 1), new)
    return "\n".join(lines)


def _value(text: str, dice: random.Random) -> str:
    found = list(re.finditer(r"=\s*([^\n]+)", text))
    if not found:
        return text
    chosen = dice.choice(found)
    return text[: chosen.start(1)] + dice.choice(_VALUES) + text[chosen.end(1) :]


def _word(text: str, dice: random.Random) -> str:
    found = list(re.finditer(r"[A-Za-z_-]{2,}", text))
    if not found:
        return text
    chosen = dice.choice(found)
    word = chosen.group()
    at = dice.randrange(len(word))
    new = dice.choice((word[:at] + word[at + 1 :], word[:at] + word[at] * 2 + word[at + 1 :], dice.choice(_KEYS)))
    return text[: chosen.start()] + new + text[chosen.end() :]


def _table(text: str, dice: random.Random) -> str:
    brackets = dice.choice(("[{}]", "[[{}]]"))
    return f"{text}\n{brackets.format(_key(dice))}\n{_key(dice)} = {dice.choice(_VALUES)}\n"


def _deep(text: str, dice: random.Random) -> str:
    depth = dice.choice((3, 63, 65, 5000))
    return f"{text}\nenv = {'[' * depth}{']' * depth}\n"


def _key(dice: random.Random) -> str:
    return ".".join(dice.choice(_KEYS) for _ in range(dice.choice((1, 1, 2, 3, 40))))


_CHANGES: Sequence[Callable[[str, random.Random], str]] = (
    _cut, _delete, _insert, _line, _value, _value, _word, _word, _table, _deep,
)  # fmt: skip
