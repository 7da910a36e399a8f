"""`launch images set ALIAS [REFERENCE]`: what an alias means, changed in the cluster's file."""

import argparse

from launcher.cli import arguments
from launcher.cli.guard import Usage
from launcher.cli.images.entry import entry
from launcher.cli.terminal import Terminal
from launcher.execute.images import aliases
from launcher.execute.world import Real


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Writes the file and says which; versions that went with the old reference are told."""
    wanted = entry(args)
    if not wanted:
        raise Usage("nothing to set", advice="a REFERENCE, or `--version PROGRAM=VERSION`")
    world = Real()
    goal = aliases.target(world, arguments.cluster(args))
    lost = aliases.change(world, goal, args.alias, wanted, terminal.note)
    for program, version in lost.items():
        advice = f"`--version {program}=…` says what it has"
        terminal.note(f"`{args.alias}` is no longer said to have {program} {version}; {advice}")
    terminal.note(f"`{args.alias}` is in `{goal.file}`")
    return 0
