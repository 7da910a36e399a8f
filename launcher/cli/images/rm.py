"""`launch images rm ALIAS`: an alias taken out of the cluster's file."""

import argparse

from launcher.cli import arguments
from launcher.cli.terminal import Terminal
from launcher.execute.images import aliases
from launcher.execute.world import Real


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Writes the file; says so where a lower file still has an alias of the name."""
    world = Real()
    goal = aliases.target(world, arguments.cluster(args))
    below = aliases.remove(world, goal, args.alias, terminal.note)
    if below is not None:
        terminal.note(f"`{args.alias}` now means what `{below}` says")
    terminal.note(f"`{args.alias}` is no longer in `{goal.file}`")
    return 0
