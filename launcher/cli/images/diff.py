"""`launch images diff`: what changed since the images were locked."""

import argparse

from launcher.cli.images.comparing import compared
from launcher.cli.table import table
from launcher.cli.terminal import Terminal
from launcher.text.diagnostic import Refused


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints a line for each difference; exit code 1 where there is one, as `launch plan --diff`."""
    rows, findings = compared(args, terminal, hashed=False)
    if rows:
        terminal.say(table(("alias", "what", "locked", "now"), rows, color=terminal.color_out))
    if findings:
        raise Refused(findings)
    if not rows:
        terminal.note("nothing changed")
    return 1 if rows else 0
