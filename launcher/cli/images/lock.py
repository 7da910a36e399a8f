"""`launch images lock`: what the aliases of a cluster are now, written down."""

import argparse
from pathlib import Path

from launcher.cli import arguments
from launcher.cli.table import table
from launcher.cli.terminal import Terminal
from launcher.execute.images import aliases, locks
from launcher.execute.world import Real
from launcher.images import locking
from launcher.model import built
from launcher.model.lock import Lock
from launcher.text.advice import option, typed
from launcher.text.diagnostic import Refused


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Writes the lock and prints what is in it; nothing is written where an image cannot be found out about."""
    world = Real()
    name, place = arguments.chosen(args)
    site = aliases.read(name, place)
    file = Path(args.lock) if args.lock else locks.path()
    lock = locks.read(file)
    wanted = locks.wanted(site, args.alias, locks.every(site, lock), lock)
    unbuilt = [name for name in args.alias if site.cluster.images[name].build and name not in {w.alias for w in wanted}]
    if unbuilt:
        raise Refused([built.unbuilt(site, name, option("lock", args.lock or "")) for name in unbuilt])
    found, findings = locks.asked(world, site, wanted, hashed=True, told=terminal.status)
    if findings:
        raise Refused(findings)

    def change(old: Lock | None) -> Lock:
        # What is not asked about any more: aliases that are gone, architectures that one is no longer for.
        return locking.merged(locking.without(old, site.cluster.name, args.alias), found)

    locks.write(world, file, change, terminal.note)
    rows = [(each.alias, each.arch, (each.manifest or f"sha256:{each.sha256}")[:19], each.reference) for each in found]
    if rows:
        terminal.say(table(("alias", "arch", "is", "reference"), rows, color=terminal.color_out))
    bashed = locks.bashed(site)
    for alias in dict.fromkeys(each.alias for each in found if locking.bare(each) and each.alias in bashed):
        looked = f"{typed('images ensure', alias, site.option)} makes a file of it, which is looked into"
        terminal.note(f"`{alias}` is not known to have the `bash` that a preamble is written for: {looked}")
    terminal.note(f"{len(found)} image{'s' * (len(found) != 1)} of cluster `{site.cluster.name}` in `{file}`")
    return 0
