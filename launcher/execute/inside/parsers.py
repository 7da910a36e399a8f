"""The program's own argparse parser: built by its own functions, or caught as the program builds it."""

# ruff: noqa: SLF001, argparse tells its flags nowhere else

import argparse
import importlib
import runpy
import sys
from typing import Any

from launcher.execute.inside import stubs

Order = dict[str, Any]
"""What to do: `tree`, `support`, `answers`, `forced`, `absent`, `set`, and `class` with `fill`, or `module`."""


class Caught(BaseException):
    """The parser was found; nothing of the program runs any further."""


def build(order: Order) -> argparse.ArgumentParser:
    """The parser that `order` asks for. Raises whatever the program's modules raise."""
    if order.get("tree"):
        sys.path[:0] = [order["tree"], order["support"]]
        stubs.install(order["tree"], order["answers"], order["forced"], order["absent"])
    for name, value in order["set"].items():
        module, _, attribute = name.partition(":")
        setattr(importlib.import_module(module), attribute, named(value))
    # vLLM looks here before it takes the trouble to find the texts of its help.
    sys.argv = ["program", "--help"]
    if order.get("fill"):
        parser: argparse.ArgumentParser = named(order["class"])
        return named(order["fill"], parser) or parser
    return caught(order["module"])


def named(words: str, *args: Any) -> Any:
    """What the function or class `module:name.name` gives."""
    module, _, attributes = words.partition(":")
    found: Any = importlib.import_module(module)
    for attribute in attributes.split("."):
        found = getattr(found, attribute)
    return found(*args)


def caught(words: list[str]) -> argparse.ArgumentParser:
    """The innermost parser of the program that `python -m` runs with `words`, or of a function `module:name`."""
    parse = argparse.ArgumentParser.parse_known_args
    found: list[argparse.ArgumentParser] = []

    def capture(parser: argparse.ArgumentParser, *args: Any, **kwargs: Any) -> Any:
        if not innermost(parser):
            return parse(parser, *args, **kwargs)
        found.append(parser)
        raise Caught

    argparse.ArgumentParser.parse_known_args = capture  # type: ignore[method-assign, assignment]
    sys.argv = list(words)
    try:
        if ":" in words[0]:
            named(words[0])
        else:
            runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    except Caught:
        return found[0]
    finally:
        argparse.ArgumentParser.parse_known_args = parse  # type: ignore[method-assign]
    raise RuntimeError(f"{words[0]} ended before it read its command line")


def innermost(parser: argparse.ArgumentParser) -> bool:
    """Whether the parser takes flags itself; one that only picks a subcommand is passed through."""
    kinds = [type(action).__name__ for action in parser._actions]
    return "_SubParsersAction" not in kinds and any(kind != "_HelpAction" for kind in kinds)
