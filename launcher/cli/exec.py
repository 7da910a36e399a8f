"""`launch exec RUN STEP -- COMMAND…`: a command in the environment and directory of a step."""

import argparse

from launcher.cli.guard import Usage
from launcher.cli.terminal import Terminal
from launcher.execute.enter import enter
from launcher.execute.journal import find
from launcher.execute.world import Real


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Becomes the command; its exit code is the process's own."""
    if not args.rest:
        raise Usage("`-- COMMAND` is missing", advice="`launch exec last router -- env`")
    terminal.flush()
    enter(find(Real(), args.run), args.step, args.rest)
    return 0
