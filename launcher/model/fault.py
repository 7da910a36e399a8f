"""What is wrong with the value of a flag: why it would not reach the program as it was meant."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from launcher.model.flag import LONGEST, Flag, Path, Use, dashed, text, uses
from launcher.model.jsontype import Fault, kind, mismatch, unjson
from launcher.model.recipe import FlagValue

__all__ = ["Fault", "faults"]

_NUMBER = r"\d+(?:\.\d+)?"
_TABLE = r"(?s)\s*{.*}\s*"
# vLLM 0.20 and later widen bare numbers with a suffix in JSON, outside of strings.
_STRING = r'("(?:[^"\\]|\\.)*")'


def faults(flag: Flag, value: FlagValue) -> Iterator[Fault]:
    """Everything that is wrong with `value`, so that `words` would not reach the program as it was meant."""
    if flag.within:
        yield from _field(flag, value)
    elif isinstance(value, bool):
        yield from _switch(flag, value)
    elif flag.kind == "bool":
        yield Fault((), "is a switch and takes no value", f"write `{flag.key} = true`")
    elif flag.joined is not None:
        yield from _joined(flag, flag.joined, value)
    else:
        for use in uses(flag, value):
            yield from _count(flag, use)
            for path, item in use.items:
                yield from _item(flag, path, item)
                yield from _leading(flag, use, path, item)


def _switch(flag: Flag, value: bool) -> Iterator[Fault]:
    """A bare flag, or its negative form: whatever the flag takes, that is what `true` and `false` mean."""
    if not value and not flag.negatives:
        yield Fault((), "has no negative form", "leave it out: it is off unless it is given")
    elif value and flag.kind != "bool" and flag.arity != "?":
        yield Fault((), f"wants {_wanted(flag)}, not `true`", among=flag.choices)


def _field(flag: Flag, value: FlagValue) -> Iterator[Fault]:
    """Faults of a field that is given by itself, at the field and below it."""
    whole: Any = value
    for key in reversed(flag.within):
        whole = {key: whole}
    depth = len(flag.within)
    for fault in list(unjson((), whole)) or _shaped(flag, (), whole):
        inside = fault.path[:depth] == flag.within
        yield fault._replace(path=fault.path[depth:] if inside else (), part=fault.part if inside else "key")


def _count(flag: Flag, use: Use) -> Iterator[Fault]:
    got = len(use.items)
    if flag.arity == "+" and not got:
        yield Fault(use.path, "wants at least one value")
    elif isinstance(flag.arity, int) and got != flag.arity:
        yield Fault(use.path, f"wants {flag.arity} value{'s' * (flag.arity != 1)} each time, not {got}")


def _item(flag: Flag, path: Path, item: Any) -> Iterator[Fault]:
    """Faults of one value by its type; a value of the right type is then looked at as text."""
    if isinstance(item, str) and (item.lower() if flag.folded else item) in flag.also:
        return
    found = list(_kind(flag, path, item))
    yield from found
    if not found:
        yield from _textual(flag, path, text(flag, item))


def _kind(flag: Flag, path: Path, item: Any) -> Iterator[Fault]:
    if flag.kind == "json":
        yield from _json(flag, path, item)
    elif flag.kind == "mixed":
        yield from _mixed(flag, path, item)
    elif flag.kind != "any":
        yield from _typed(flag, path, item)


def _mixed(flag: Flag, path: Path, item: Any) -> Iterator[Fault]:
    if isinstance(item, dict) or (isinstance(item, str) and re.fullmatch(_TABLE, item)):
        yield from _json(flag, path, item)
    elif not isinstance(item, str):
        yield Fault(path, f"wants {_WANTED[flag.kind]}, not {kind(item)}")


def _typed(flag: Flag, path: Path, item: Any) -> Iterator[Fault]:
    wanted = {"str": str, "int": int, "float": (int, float)}[flag.kind]
    if isinstance(item, list):
        yield Fault(path, "takes one value, not a list")
    elif isinstance(item, str) and flag.suffixes and _suffixed(flag, item):
        return
    elif isinstance(item, bool) or not isinstance(item, wanted):  # type: ignore[arg-type]
        help_ = _instead(flag, item)
        among = () if help_ else flag.choices
        yield Fault(path, f"wants {_wanted(flag)}{_or(flag)}, not {kind(item)}", help_, among=among)
    elif not (flag.minimum is None or item >= flag.minimum) or not (flag.maximum is None or item <= flag.maximum):
        yield Fault(path, f"wants {_range(flag)}, not {item}")


def _wanted(flag: Flag) -> str:
    return "one of its choices" if flag.choices and flag.kind == "str" else _WANTED[flag.kind]


def _suffixed(flag: Flag, item: str) -> bool:
    """Whether text is a number with one of the flag's suffixes; some of them follow whole numbers only."""
    number = re.match(_NUMBER, item)
    if number is None:
        return False
    fraction, whole = (set(one.split()) for one in flag.suffixes)
    suffix = item[number.end() :]
    return suffix in fraction or (suffix in whole and "." not in number[0])


def _or(flag: Flag) -> str:
    words = [f"`{word}`" for word in flag.also if word and word != "None"]
    example = f"`16{flag.suffixes[0].split()[0]}`" if flag.suffixes else ""
    return "".join(f" or {each}" for each in (*words, example) if each)


def _range(flag: Flag) -> str:
    if flag.maximum is None:
        return f"{flag.minimum} or more"
    return f"{flag.maximum} or less" if flag.minimum is None else f"{flag.minimum} to {flag.maximum}"


_WANTED = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "json": "a table",
    "mixed": "a string or a table",
    "any": "a value",
}


def _instead(flag: Flag, item: Any) -> str | None:
    """How to write `item` so that the flag takes it, where that is plain."""
    if flag.kind == "str" and type(item) in (int, float) and (not flag.choices or str(item) in flag.choices):
        return f'write it in quotes: `{flag.key} = "{item}"`'
    if not isinstance(item, str) or flag.kind not in ("int", "float"):
        return None
    # TOML takes no zeros in front.
    if number := re.fullmatch(r"(-?)0*([0-9]+" + r"(?:\.[0-9]+)?" * (flag.kind == "float") + ")", item):
        return f"write it without quotes: `{flag.key} = {number[1]}{number[2]}`"
    if flag.choices or flag.arity is not None or flag.joined is not None:
        # What it takes is said already, or is not one number.
        return None
    known = flag.default if isinstance(flag.default, int | float) else "…"
    return f"write a number: `{flag.key} = {known}`"


def _textual(flag: Flag, path: Path, word: str) -> Iterator[Fault]:
    choice = _folded(flag, word)
    if flag.choices and choice not in flag.choices:
        yield Fault(path, f"has no choice `{word}`", among=flag.choices, word=word)
    elif flag.known and choice not in flag.known:
        yield Fault(path, f"knows no `{word}`", among=flag.known, word=word, sure=False)
    if (
        flag.pattern
        and not re.fullmatch(flag.pattern, word)
        and not (flag.kind == "mixed" and re.fullmatch(_TABLE, word))
    ):
        yield Fault(path, f"wants {flag.form}, not `{word}`")
    if "\0" in word:
        yield Fault(path, "cannot carry a NUL character: no program can be given one")
    if word == "--":
        yield Fault(path, "cannot carry the value `--`: to the program it ends the flags")
    if flag.apart and dashed(word):
        yield Fault(path, f"cannot carry `{word}`: beginning with a dash, it would be a flag")
    if len(word.encode()) + len(flag.name) + 1 > LONGEST:
        yield Fault(path, "is longer than the 128 KiB one word may have", "put it in a file and name that")


def _folded(flag: Flag, word: str) -> str:
    lower = word.lower() if flag.folded else word
    return lower.replace("-", "_") if flag.snake else lower


def _leading(flag: Flag, use: Use, path: Path, item: Any) -> Iterator[Fault]:
    """Faults of a value that would be taken for a flag because it follows others as a word of its own."""
    if not use.several or flag.repeat == "extend" or len(use.items) == 1:
        return
    if isinstance(item, str | int | float) and dashed(text(flag, item)):
        yield Fault(path, f"cannot carry `{item}` among others: beginning with a dash, it would be a flag")


def _joined(flag: Flag, separator: str, value: FlagValue) -> Iterator[Fault]:
    """A list that becomes one word; text that is already joined is taken as it is."""
    if isinstance(value, str) and flag.kind == "str":
        yield from _item(flag, (), value)
        return
    items = value if isinstance(value, list) else [value]
    if flag.arity == "+" and not items:
        yield Fault((), "wants at least one value")
    for index, item in enumerate(items):
        path = (index,) if items is value else ()
        yield from _item(flag, path, item)
        if flag.kind == "str" and isinstance(item, str) and (separator in item or item != item.strip() or not item):
            yield Fault(path, f"cannot carry `{item}`: the program reads one list separated by `{separator}`")


def _json(flag: Flag, path: Path, item: Any) -> Iterator[Fault]:
    """Faults of a value that is to be JSON: text must be JSON already, everything else must have a JSON form."""
    if not isinstance(item, str):
        yield from list(unjson(path, item)) or _shaped(flag, path, item)
        return
    try:
        read = json.loads(_widened(flag, item))
    except ValueError as error:
        yield Fault(path, f"is not JSON: {str(error).lower()}", "write a TOML table: it is passed as JSON")
        return
    # What is wrong inside a text has no place of its own.
    for fault in _shaped(flag, (), read):
        inside = fault.path[:-1] if fault.part == "key" else fault.path
        yield fault._replace(path=path, part="value", phrase=f"{_inside(inside)}{fault.phrase}")


def _shaped(flag: Flag, path: Path, item: Any) -> Iterator[Fault]:
    if flag.shape is not None:
        yield from mismatch(flag.types, flag.shape, item, path)


def _inside(path: Path) -> str:
    return f"has in `{'.'.join(map(str, path))}` a value that " if path else ""


def _widened(flag: Flag, item: str) -> str:
    """JSON text with bare `80g` written out, where the program does so."""
    if not flag.suffixes:
        return item
    marks = "|".join(" ".join(flag.suffixes).split())
    parts: Sequence[str] = re.split(_STRING, item)
    pattern = re.compile(rf"\b(\d+)(?:\.\d+)?(?:{marks})\b")
    return "".join(part if index % 2 else pattern.sub(r"\1", part) for index, part in enumerate(parts))
