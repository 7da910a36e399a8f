"""`launch wait RUN`: until the run is ready, or with `--ended` until it has ended."""

import argparse
from dataclasses import replace

from launcher.cli import arguments, ending
from launcher.cli.guard import Failed
from launcher.cli.terminal import Terminal
from launcher.execute.journal import find
from launcher.execute.runs import Kinds
from launcher.execute.status import Tail, status
from launcher.execute.world import Real

_PAUSE = 0.05


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Returns 0 when what was waited for is there; the run's exit code, or 1, where the run is over instead."""
    limit = None if args.timeout is None else arguments.duration(args.timeout)
    world = Real()
    began = world.monotonic()
    found = find(world, args.run)
    # Where Slurm does not answer, its programs take 40 s to say so (`squeue` of 22.05).
    kind = Kinds(world if limit is None else replace(world, until=began + limit)).of(found)
    ready = False
    tail = Tail(found)
    while True:
        live = kind.live(found)
        for event in tail.read():
            ready = ready or event["event"] == "ready"
        if not live:
            end = ending.told if args.ended else ending.unready
            return end(found, terminal, kind)
        if ready and not args.ended and kind.waiting(found) is None:
            terminal.say(status(found, kind).url or found.name)
            return 0
        waited = world.monotonic() - began
        if limit is not None and waited > limit:
            what = "has not ended" if args.ended else "is not ready"
            message, advice = f"`{found.name}` {what} after {limit:g} s; it goes on", "`--timeout` waits longer"
            raise Failed("wait-expired", message, advice, status=6)
        terminal.status(f"waiting for {found.name} ({waited:.0f} s)")
        world.pause(_PAUSE)
