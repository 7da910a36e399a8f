"""`launch images pull [ALIAS…]`: image files of a cluster's aliases; one that fails stops no other."""

import argparse

from launcher.cli import arguments
from launcher.cli.guard import Failed, Usage
from launcher.cli.images import storing
from launcher.cli.table import table
from launcher.cli.terminal import Terminal
from launcher.execute.images import aliases
from launcher.execute.images.failure import Failure
from launcher.execute.images.store import Store
from launcher.execute.world import Real
from launcher.images.reference import Reference, parse
from launcher.model.site import Site


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints alias and path of each; exit code 4 where one could not be made."""
    site = storing.site(args)
    arch = site.cluster.arch
    if arch is None:
        raise Usage(
            f"cluster `{site.cluster.name}` does not say its nodes' architecture", advice="say `arch` in its file"
        )
    store = storing.store(args, site, terminal)
    rows, status = [], 0
    for alias, wanted in _wanted(args, site, arch):
        try:
            rows.append((alias, *_pulled(args, store, wanted, arch)))
        except (Failure, Failed) as error:
            failed = storing.failed(error) if isinstance(error, Failure) else error
            if failed.code == "store-closed":
                raise failed from error
            advice = f" ({failed.advice})" if failed.advice else ""
            terminal.note(f"error[{failed.code}]: `{alias}`: {failed.message}{advice}")
            status = status or failed.status
            continue
        if args.adopt and not args.dry_run:
            goal = aliases.target(Real(), arguments.cluster(args))
            key = site.cluster.images[alias].key(arch) or "reference"
            aliases.change(Real(), goal, alias, {key: rows[-1][1]}, terminal.note)
    if rows:
        terminal.say(table(("alias", "file", "to fetch"), rows, color=terminal.color_out))
    return status


def _wanted(args: argparse.Namespace, site: Site, arch: str) -> list[tuple[str, Reference | Failed]]:
    """The aliases that are of a registry, or of which nobody knows; one that is named must be."""
    found: list[tuple[str, Reference | Failed]] = []
    for alias in args.alias or sorted(site.cluster.images):
        if args.alias and alias not in site.cluster.images:
            raise Usage(f"cluster `{site.cluster.name}` has no image alias `{alias}`", alias, site.cluster.images)
        text = site.cluster.images[alias].meant(arch)
        try:
            source = parse(text) if text else None
        except ValueError as error:
            found.append((alias, Failed("image-unusable", str(error), status=4)))
            continue
        if isinstance(source, Reference):
            found.append((alias, source))
        elif args.alias and site.cluster.images[alias].build:
            raise storing.definition(alias, site)
        elif args.alias:
            raise Usage(f"`{alias}` is no image of a registry: `{text}`", advice="only images of registries are pulled")
    return found


def _pulled(args: argparse.Namespace, store: Store, wanted: Reference | Failed, arch: str) -> tuple[str, str]:
    if isinstance(wanted, Failed):
        raise wanted
    if not args.dry_run:
        with storing.interruptible():
            return str(store.ensure(wanted, arch)), ""
    path, remote = store.found(wanted, arch)
    return str(path), "" if path.exists() else storing.size(remote.manifest.size)
