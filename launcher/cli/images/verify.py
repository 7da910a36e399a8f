"""`launch images verify`: is everything as it was locked? Files are read to the byte."""

import argparse

from launcher.cli.images.comparing import compared
from launcher.cli.table import table
from launcher.cli.terminal import Terminal
from launcher.text.diagnostic import Refused


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints what differs; exit code 4 where anything does."""
    rows, findings = compared(args, terminal, hashed=True)
    # A file that was copied is the same file.
    rows = [row for row in rows if row[1] != "mtime"]
    if rows:
        terminal.say(table(("alias", "what", "locked", "now"), rows, color=terminal.color_out))
    if findings:
        raise Refused(findings)
    terminal.note("not as locked" if rows else "all as locked")
    return 4 if rows else 0
