"""`launch exec RUN STEP -- COMMAND…`: a command in the environment and directory of a step."""

import argparse
import shlex

from launcher.cli.guard import Usage
from launcher.cli.terminal import Terminal
from launcher.execute.journal import find, refusal
from launcher.execute.runs import Kinds
from launcher.execute.status import status
from launcher.execute.world import Real
from launcher.text.advice import typed


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Becomes the command; its exit code is the process's own."""
    if not args.rest:
        raise Usage(
            "`-- COMMAND` is missing", advice=typed("exec", shlex.quote(args.run), shlex.quote(args.step), "-- env")
        )
    terminal.flush()
    world = Real()
    found = find(world, args.run)
    kind = Kinds(world).of(found)
    told = status(found, kind)
    if not told.live:
        how = f"`{found.name}` has ended: {told.cause or told.state}"
        raise refusal("run-ended", how, "`launch ps` lists the runs that live")
    kind.enter(found, args.step, args.rest)
    return 0
