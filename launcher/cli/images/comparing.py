"""What `verify` and `diff` share: the lock of a cluster beside what there is now."""

import argparse
from collections.abc import Container
from pathlib import Path

from launcher.cli import arguments
from launcher.cli.guard import Usage
from launcher.cli.terminal import Terminal
from launcher.execute.images import aliases, locks
from launcher.execute.world import Real
from launcher.images import locking
from launcher.model.lock import LockedImage
from launcher.text.advice import option, typed
from launcher.text.diagnostic import Diagnostic

Row = tuple[str, str, str, str]
"""Alias, key, what was locked, what there is now."""


def compared(args: argparse.Namespace, terminal: Terminal, *, hashed: bool) -> tuple[list[Row], list[Diagnostic]]:
    """Every difference, and what could not be found out. Raises Usage where nothing is locked."""
    name, place = arguments.chosen(args)
    site = aliases.read(name, place)
    file = Path(args.lock) if args.lock else locks.path()
    lock = locks.read(file)
    was = {(each.alias, each.arch): each for each in lock.image if each.cluster == site.cluster.name} if lock else {}
    arches: dict[str, list[str | None]] = {}
    for alias, arch in was:
        if not args.alias or alias in args.alias:
            arches.setdefault(alias, []).append(arch)
    missing = [alias for alias in args.alias if alias not in arches]
    if not was or missing:
        what = f"`{missing[0]}` of cluster" if missing else "cluster"
        advice = f"{typed('images lock', site.option, option('lock', args.lock or ''))} locks it"
        raise Usage(f"{what} `{site.cluster.name}` is not locked in `{file}`", advice=advice)
    known = [alias for alias in arches if alias in site.cluster.images]
    asked = locks.wanted(site, known, arches, lock) if known else []
    found, findings = locks.asked(Real(), site, asked, hashed=hashed, told=terminal.status)
    several = {alias for alias, each in arches.items() if len(each) > 1}
    rows = [(_named(each, several), *row) for each in found for row in _rows(was[each.alias, each.arch], each)]
    there = {(each.alias, each.arch) for each in asked}
    gone = [each for key, each in was.items() if key[0] in arches and key not in there]
    return [*rows, *((_named(each, several), "alias", each.reference, _NONE) for each in gone)], findings


_NONE = "no alias any more"


def _named(each: LockedImage, several: Container[str]) -> str:
    """The alias, and for which nodes where it is locked for several."""
    return f"{each.alias} ({each.arch})" if each.alias in several else each.alias


def _rows(was: LockedImage, now: LockedImage) -> list[tuple[str, str, str]]:
    return list(locking.differences(was, now))
