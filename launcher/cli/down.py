"""`launch down RUN…`: stops runs and returns when nothing of them is left."""

import argparse
from collections.abc import Sequence

from launcher.cli.guard import Usage
from launcher.cli.terminal import Terminal
from launcher.execute.interrupt import abreast
from launcher.execute.journal import Run, find, understood
from launcher.execute.runs import Kinds, submitted
from launcher.execute.status import counted, every, status
from launcher.execute.world import Real, World
from launcher.text.diagnostic import Diagnostic, Refused


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Stops the runs, several at a time; a run that has ended already is no error."""
    world = Real()
    kinds = Kinds(world)
    chosen = _chosen(args, world, kinds)
    if not chosen:
        terminal.note("nothing is running")
        return 0
    failed: list[Diagnostic] = []
    for some in filter(None, _rounds(kinds, chosen)):
        stopped = abreast(lambda each: _stop(kinds, each), some, min(16, len(some)))
        for each, (text, found) in zip(some, stopped, strict=True):
            failed += found
            if not found:
                terminal.note(f"{each.name}: {text}")
    if failed:
        raise Refused(failed)
    return 0


def _chosen(args: argparse.Namespace, world: World, kinds: Kinds) -> Sequence[Run]:
    if args.all and args.run:
        raise Usage("`--all` and `RUN` exclude each other", advice="see `launch down --help`")
    if args.all:
        return [each for each, found in every(world, kinds) if not found.over]
    if not args.run:
        raise Usage("`RUN` is missing", advice="`launch down last`, `launch down --all`; `launch ps` lists the runs")
    return list({found.path: found for found in (find(world, word) for word in args.run)}.values())


def _rounds(kinds: Kinds, chosen: Sequence[Run]) -> tuple[Sequence[Run], Sequence[Run]]:
    """The runs that can be stopped at once, and those whose jobs end under some of them."""
    inside = {kinds.of(each).job(each) for each in chosen if not submitted(each.path)} - {None}
    last = [each for each in chosen if submitted(each.path) and kinds.of(each).job(each) in inside]
    return [each for each in chosen if each not in last], last


def _stop(kinds: Kinds, each: Run) -> tuple[str, list[Diagnostic]]:
    kind = kinds.of(each)
    try:
        before = status(understood(each), kind)
        left = () if before.live else kind.left([each]).get(each.path, ())
        kind.stop(each)
        after = status(each, kind)
    except Refused as refused:
        return "", refused.diagnostics
    if left:
        ended = f"{counted(left)} that it had left behind"
        return f"{ended} {'were' if len(left) > 1 else 'was'} killed ({after.cause or after.state})", []
    if before.held:
        return f"job {before.job}, which was kept, is given back ({after.cause or after.state})", []
    if not before.live:
        return f"has ended already ({after.cause or after.state})", []
    return after.cause or after.state, []
