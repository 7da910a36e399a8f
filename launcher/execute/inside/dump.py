"""Prints the flags of the program's parser as JSON, instead of running the program.

The one argument is an order (see `parsers`) as JSON; with it `distribution`, which has the version, and `known`:
flags or fields whose values the parser leaves open → where the program keeps the list of those it knows.
"""

# ruff: noqa: SLF001, argparse tells its flags nowhere else

import argparse
import importlib.metadata
import json
import re
import sys
from collections.abc import Iterator
from typing import Any

from launcher.execute.inside import jsontypes, parsers

SIMPLE = (str, int, float, bool)
GOING = re.compile(
    r"^[\[(]?deprecated\b|\bthis (?:option|flag|argument|field|parameter) is deprecated\b|^\S+ is deprecated\b",
    re.IGNORECASE,
)
OTHER = re.compile(
    r"(?:\buse|\balias (?:for|of)|\bfavou?r of)\s+['`]?(--[a-z][\w.{},-]*[\w}](?:=[\w{},]+)?)",
    re.IGNORECASE,
)


def described(parser: argparse.ArgumentParser, types: Any) -> dict[str, Any]:
    """The parser's actions and what holds between them, as JSON-ready data; `types` collects classes of JSON."""
    groups = parser._mutually_exclusive_groups
    old = getattr(parser, "_deprecated", ())
    last = getattr(parser, "parsers", [parser])[-1]._actions
    return {
        "prefixes": parser.allow_abbrev,
        "exclusive": [[a.option_strings[0] for a in g._group_actions if a.option_strings] for g in groups],
        "actions": [
            dict(action(each, types), deprecated=each in old or deprecated(each), ahead=each not in last)
            for each in parser._actions
        ],
    }


def action(each: argparse.Action, types: Any) -> dict[str, Any]:
    """One action as data."""
    return {
        "action": family(each),
        "spellings": spellings(each, types.registered),
        "negatives": sorted(getattr(each, "negative_option_strings", ())),
        "nargs": each.nargs,
        "type": typed(each.type, types),
        "choices": None if each.choices is None else [None if c is None else str(c) for c in each.choices],
        # A tuple names the values of one appearance; a list is what vLLM has of choices that are open.
        "metavar": [str(word) for word in each.metavar] if isinstance(each.metavar, list) else None,
        "default": each.default if isinstance(each.default, SIMPLE) else None,
        "instead": getattr(each, "new_flag", None) or mentioned(each),
        "minimum": getattr(each, "minimum", None),
        "maximum": getattr(each, "maximum", None),
        "retired": getattr(each, "error_message", None) is not None,
    }


FAMILIES = (argparse.BooleanOptionalAction, argparse._ExtendAction, argparse._AppendAction)


def family(each: argparse.Action) -> str:
    """Name of the action's class, or of argparse's own that it is made of, where that says what the flag does."""
    return next((known.__name__ for known in FAMILIES if isinstance(each, known)), type(each).__name__)


def mentioned(each: argparse.Action) -> Any:
    """The other flag that the help of a deprecated one speaks of, or None."""
    others = [word for word in OTHER.findall(each.help or "") if word not in each.option_strings]
    return others[0] if others and deprecated(each) else None


def spellings(each: argparse.Action, registered: Any) -> list[str]:
    """Every spelling the parser takes: some programs hide spellings from help by taking them off the action."""
    shown = [spelling for spelling in each.option_strings if registered.get(spelling, each) is each]
    return shown + [spelling for spelling, owner in registered.items() if owner is each and spelling not in shown]


def deprecated(each: argparse.Action) -> bool:
    """Whether the action says of itself that it is going."""
    said = bool(getattr(each, "deprecated", False)) or type(each).__name__.lstrip("_").startswith("Deprecated")
    return said or GOING.search(each.help or "") is not None


def typed(reader: Any, types: Any) -> Any:
    """What reads a value: its name in the program's source, and what it is made of, where it is a closure."""
    if reader is None:
        return None
    name = getattr(reader, "__qualname__", str(reader))
    module = getattr(reader, "__module__", None)
    full = name if module in (None, "builtins") else f"{module}.{name}"
    made: dict[str, Any] = {"name": full}
    parts = [typed(part, types) for part in closed(reader)]
    if parts:
        made["of"] = parts
    shape = types.shape(reader)
    if shape is not None:
        made["shape"] = shape
    return made


def closed(reader: Any) -> Iterator[Any]:
    """Functions and types that a function keeps in its closure or its defaults."""
    for cell in getattr(reader, "__closure__", None) or ():
        if callable(cell.cell_contents):
            yield cell.cell_contents
    if not isinstance(reader, type):
        yield from (value for value in getattr(reader, "__defaults__", None) or () if isinstance(value, type))


def listed(places: list[str]) -> Any:
    """The names at the first of `places` (`module:name.name`, called where it is a function) that is there, or None."""
    for place in places:
        try:
            found = parsers.named(place)
        except (ImportError, AttributeError):
            continue
        return sorted(str(name) for name in found)
    return None


def main(text: str) -> None:
    """Print what `text` orders."""
    order = json.loads(text)
    out, sys.stdout = sys.stdout, sys.stderr
    parser = parsers.build(order)
    types = jsontypes.Types(parser._option_string_actions)
    told = described(parser, types)
    version = importlib.metadata.version(order["distribution"]) if order.get("distribution") else None
    known = {name: listed(places) for name, places in order["known"].items()}
    json.dump(dict(told, version=version, types=types.found, known=known), out)
    out.flush()
