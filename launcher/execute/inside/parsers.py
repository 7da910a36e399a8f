"""The program's own argparse parser: built by its own functions, or caught as the program builds it."""

# ruff: noqa: SLF001, argparse tells its flags nowhere else

import argparse
import asyncio
import importlib
import inspect
import runpy
import sys
from typing import Any

from launcher.execute.inside import arguments, stubs

Order = dict[str, Any]
"""What to do: `tree`, `beside`, `support`, `answers`, `forced`, `absent`, `set`, and `class` with `fill`, `module` with
`chain`, or `app`."""


class Caught(BaseException):
    """The parser was found; nothing of the program runs any further."""


def build(order: Order) -> argparse.ArgumentParser:
    """The parser that `order` asks for. Raises whatever the program's modules raise."""
    if order.get("tree"):
        trees = [order["tree"], *order["beside"]]
        sys.path[:0] = [*trees, order["support"]]
        stubs.install(trees, order["answers"], order["forced"], order["absent"])
    for name, value in order["set"].items():
        module, _, attribute = name.partition(":")
        setattr(importlib.import_module(module), attribute, named(value))
    # vLLM looks here before it takes the trouble to find the texts of its help.
    sys.argv = ["program", "--help"]
    if order.get("app"):
        return arguments.Arguments(found(order["app"]))
    if order.get("fill"):
        parser: argparse.ArgumentParser = named(order["class"])
        return named(order["fill"], parser) or parser
    parsers = caught(order["module"], order["chain"])
    return parsers[0] if len(parsers) == 1 else Chain(parsers)


def found(words: str) -> Any:
    """What is at `module:name.name`."""
    module, _, attributes = words.partition(":")
    value: Any = importlib.import_module(module)
    for attribute in attributes.split("."):
        value = getattr(value, attribute)
    return value


def named(words: str, *args: Any) -> Any:
    """What the function or class `module:name.name` gives."""
    return found(words)(*args)


def caught(words: list[str], count: int) -> list[argparse.ArgumentParser]:
    """The first `count` innermost parsers of the program that `python -m` runs with `words`, or of a function
    `module:name`.
    """
    parse = argparse.ArgumentParser.parse_known_args
    found: list[argparse.ArgumentParser] = []

    def capture(parser: argparse.ArgumentParser, *args: Any, **kwargs: Any) -> Any:
        if innermost(parser):
            found.append(parser)
        if len(found) == count:
            raise Caught
        return parse(parser, *args, **kwargs)

    argparse.ArgumentParser.parse_known_args = capture  # type: ignore[method-assign, assignment]
    sys.argv = list(words)
    try:
        run(words)
    except Caught:
        return found
    finally:
        argparse.ArgumentParser.parse_known_args = parse  # type: ignore[method-assign]
    raise RuntimeError(f"{words[0]} ended before it read its command line")


def run(words: list[str]) -> None:
    """Runs the program, or the function with the words that follow it, awaited where that must be."""
    if ":" not in words[0]:
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
        return
    begun = named(words[0], *([words[1:]] if words[1:] else []))
    if inspect.iscoroutine(begun):
        asyncio.run(begun)


class Chain(argparse.ArgumentParser):
    """Parsers that read a command line one after another, each what those before it have left, as one parser.

    So do workers of Dynamo: its own flags, those of its router, then the engine's. A spelling is the first one's.
    """

    def __init__(self, parsers: list[argparse.ArgumentParser]) -> None:
        super().__init__(add_help=False, allow_abbrev=any(one.allow_abbrev for one in parsers))
        self.parsers = parsers
        self._deprecated: set[Any] = set()
        for one in parsers:
            for spelling, owner in one._option_string_actions.items():
                self._option_string_actions.setdefault(spelling, owner)
            self._actions += [each for each in one._actions if self.owned(each)]
            self._mutually_exclusive_groups += one._mutually_exclusive_groups
            self._deprecated |= {*getattr(one, "_deprecated", ())}

    def owned(self, action: argparse.Action) -> bool:
        """Whether any spelling of the action is its own, or it has none."""
        registered = self._option_string_actions
        return not action.option_strings or any(registered.get(each) is action for each in action.option_strings)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What they make of `args`. Where two have one attribute, it is that of the first."""
        found = []
        for one in self.parsers[:-1]:
            known, args = one.parse_known_args(args)
            found.append(known)
        found.append(self.parsers[-1].parse_args(args))
        whole = namespace or argparse.Namespace()
        for known in reversed(found):
            vars(whole).update(vars(known))
        return whole


def innermost(parser: argparse.ArgumentParser) -> bool:
    """Whether the parser takes flags itself; one that only picks a subcommand is passed through."""
    kinds = [type(action).__name__ for action in parser._actions]
    return "_SubParsersAction" not in kinds and any(kind != "_HelpAction" for kind in kinds)
