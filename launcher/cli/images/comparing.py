"""What `verify` and `diff` share: the lock of a cluster beside what there is now."""

import argparse
from pathlib import Path

from launcher.cli import arguments
from launcher.cli.guard import Usage
from launcher.cli.terminal import Terminal
from launcher.execute.images import aliases, locks
from launcher.execute.world import Real
from launcher.images import locking
from launcher.model.lock import LockedImage
from launcher.text.diagnostic import Diagnostic

Row = tuple[str, str, str, str]
"""Alias, key, what was locked, what there is now."""


def compared(args: argparse.Namespace, terminal: Terminal, *, hashed: bool) -> tuple[list[Row], list[Diagnostic]]:
    """Every difference, and what could not be found out. Raises Usage where nothing is locked."""
    name, place = arguments.chosen(args)
    site = aliases.read(name, place)
    file = Path(args.lock) if args.lock else locks.path()
    lock = locks.read(file)
    was = {each.alias: each for each in lock.image if each.cluster == site.cluster.name} if lock else {}
    missing = [alias for alias in args.alias if alias not in was]
    if not was or missing:
        what = f"`{missing[0]}` of cluster" if missing else "cluster"
        advice = f"`launch images lock --cluster {name}` locks it"
        raise Usage(f"{what} `{site.cluster.name}` is not locked in `{file}`", advice=advice)
    known = [alias for alias in args.alias or was if alias in site.cluster.images]
    found, findings = locks.asked(Real(), site, locks.wanted(site, known), hashed=hashed, told=terminal.status)
    rows = [(each.alias, *row) for each in found for row in _rows(was[each.alias], each)]
    gone = [alias for alias in args.alias or was if alias not in site.cluster.images]
    return [*rows, *((alias, "alias", was[alias].reference, "no alias any more") for alias in gone)], findings


def _rows(was: LockedImage, now: LockedImage) -> list[tuple[str, str, str]]:
    return list(locking.differences(was, now))
