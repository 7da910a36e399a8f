"""`launch explain CODE`: what a finding means."""

import argparse
import inspect
from collections.abc import Mapping
from typing import Any

from launcher.checks import CHECKS
from launcher.cli.codes import CODES
from launcher.cli.guard import Usage
from launcher.cli.table import table
from launcher.cli.terminal import Terminal


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints one page, or a table of all codes."""
    pages = explanations()
    if args.code is None:
        terminal.say(table(("code", "about"), [(code, text.split("\n")[0]) for code, text in sorted(pages.items())]))
        return 0
    code = args.code.strip("[]").lower().replace("_", "-")
    if code not in pages:
        raise Usage(f"there is no finding `{args.code}`", code, pages, "`launch explain` lists all")
    terminal.say(f"{code}\n\n{pages[code]}")
    return 0


def explanations() -> Mapping[str, str]:
    """Code → its page: the docstring of a check, or the text of a code that is no check."""
    return {**CODES, **{code: _page(check) for code, check in CHECKS.items()}}


def _page(check: Any) -> str:
    return inspect.getdoc(check) or ""
