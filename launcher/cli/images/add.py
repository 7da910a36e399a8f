"""`launch images add ALIAS REFERENCE`: a new alias in the cluster's file."""

import argparse

from launcher.cli import arguments
from launcher.cli.guard import Usage
from launcher.cli.images.entry import entry
from launcher.cli.terminal import Terminal
from launcher.execute.images import aliases
from launcher.execute.world import Real


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Writes the file and says which."""
    wanted = entry(args)
    if not {"build", "reference", args.arch} & wanted.keys():
        raise Usage("an alias of what?", advice="a REFERENCE, or `--build NAME`")
    world = Real()
    goal = aliases.target(world, arguments.cluster(args))
    aliases.add(world, goal, args.alias, wanted, terminal.note)
    terminal.note(f"`{args.alias}` is in `{goal.file}`")
    return 0
