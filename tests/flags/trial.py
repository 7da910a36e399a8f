"""A program's real parser, asked again and again: one JSON list of words a line in, one answer a line out.

Run by the Python that has the program, or by ours beside its unpacked wheel; standard library only.
"""

import argparse
import json
import pathlib
import sys
from typing import Any

from launcher.execute.inside import parsers

TOO_LONG = 128 * 1024
PLAIN = (argparse._StoreAction, argparse._AppendAction)
"""Actions that keep what they are given."""


class Refused(ValueError):
    """The parser's error, without the page of usage before it."""


def refuse(message: str) -> Any:
    raise Refused(message)


def answer(parser: argparse.ArgumentParser, base: list[str], words: list[str], name: str) -> dict[str, Any]:
    """Whether the parser takes the words, and what it then has for the flag `name`."""
    if any("\0" in word or len(word.encode()) >= TOO_LONG for word in words):
        return {"taken": False, "said": "execve"}
    action = parser._option_string_actions.get(name)
    try:
        found = parser.parse_args([*base, *words])
    except SystemExit as left:
        return {"taken": False, "said": str(left)}
    except (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        return {"taken": False, "said": repr(error)[:200]}
    value = getattr(found, action.dest, None) if action is not None else None
    plain = isinstance(action, PLAIN)
    if isinstance(value, pathlib.PurePath):
        return {"taken": True, "path": str(value)}
    try:
        return {"taken": True, "plain": plain, "value": json.loads(json.dumps(value))}
    except (TypeError, ValueError):
        return {"taken": True, "opaque": repr(value)[:200]}


def main(order: str) -> None:
    """Answers until there are no more lines."""
    out, sys.stdout = sys.stdout, sys.stderr
    wanted = json.loads(order)
    parser = parsers.build(wanted)
    for one in getattr(parser, "parsers", [parser]):
        one.error = refuse
    for line in sys.stdin:
        asked = json.loads(line)
        json.dump(answer(parser, wanted["base"], asked["words"], asked["name"]), out)
        out.write("\n")
        out.flush()
