"""Run by a program's own Python: prints its argparse flags as JSON, instead of running the program.

Arguments: the distribution that names the version (`-` for none), the module, and the words that reach
the parser (a subcommand). Standard library only, and old syntax: the interpreter is the program's.
"""

# ruff: noqa: SLF001, argparse tells its flags nowhere else

import argparse
import importlib.metadata
import json
import runpy
import sys
from typing import Any


def described(parser: argparse.ArgumentParser) -> dict[str, Any]:
    """The parser's actions and what holds between them, as JSON-ready data."""
    groups = parser._mutually_exclusive_groups
    return {
        "prefixes": parser.allow_abbrev,
        "exclusive": [[a.option_strings[0] for a in g._group_actions if a.option_strings] for g in groups],
        "actions": [
            {
                "action": type(action).__name__,
                "spellings": list(action.option_strings),
                "nargs": action.nargs,
                "type": typename(action.type),
                "choices": None if action.choices is None else [str(choice) for choice in action.choices],
            }
            for action in parser._actions
        ],
    }


def typename(reader: Any) -> Any:
    """What the program's source calls an action's `type`, with its module unless it is built in."""
    name = getattr(reader, "__qualname__", None if reader is None else str(reader))
    module = getattr(reader, "__module__", None)
    return name if module in (None, "builtins") else f"{module}.{name}"


def innermost(parser: argparse.ArgumentParser) -> bool:
    """Whether the parser takes flags itself; one that only picks a subcommand is passed through."""
    kinds = [type(action).__name__ for action in parser._actions]
    return "_SubParsersAction" not in kinds and any(kind != "_HelpAction" for kind in kinds)


def main(distribution: str, module: str, *words: str) -> None:
    """Run `module` until its innermost parser is asked to parse; print that parser and leave."""
    out, sys.stdout = sys.stdout, sys.stderr
    parse = argparse.ArgumentParser.parse_known_args

    def capture(parser: argparse.ArgumentParser, *args: Any, **kwargs: Any) -> Any:
        if not innermost(parser):
            return parse(parser, *args, **kwargs)
        version = None if distribution == "-" else importlib.metadata.version(distribution)
        json.dump(dict(described(parser), version=version), out)
        out.flush()
        raise SystemExit(0)

    argparse.ArgumentParser.parse_known_args = capture  # type: ignore[method-assign, assignment]
    sys.argv = [module, *words]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
