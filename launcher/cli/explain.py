"""`launch explain CODE`: what a finding means."""

import argparse
from collections.abc import Mapping

from launcher.checks import survey
from launcher.checks.pages import pages
from launcher.cli.codes import CODES
from launcher.cli.guard import Usage
from launcher.cli.table import table
from launcher.cli.terminal import Terminal
from launcher.execute import adapters
from launcher.execute.slurm import refusal
from launcher.render import pyxis


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints one page, or a table of all codes."""
    known = explanations()
    if args.code is None:
        rows = [(code, text.split("\n")[0]) for code, text in sorted(known.items())]
        terminal.say(table(("code", "about"), rows, color=terminal.color_out))
        return 0
    code = args.code.strip("[]").lower().replace("_", "-")
    if code not in known:
        raise Usage(f"there is no finding `{args.code}`", code, known, "`launch explain` lists all")
    terminal.say(f"{code}\n\n{known[code]}")
    return 0


def explanations() -> Mapping[str, str]:
    """Code → its page, for every finding there is."""
    known = pages(adapters.load(adapters.known()))
    return {**CODES, **adapters.CODES, **pyxis.CODES, **refusal.CODES, **survey.CODES, **known}
