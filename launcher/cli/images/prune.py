"""`launch images prune`: room in a store."""

import argparse
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path

from launcher.cli.guard import Usage
from launcher.cli.images import storing
from launcher.cli.images.builds import Builds
from launcher.cli.terminal import Terminal
from launcher.execute.images import berth, locks, remains
from launcher.execute.images.failure import Failure
from launcher.execute.images.store import Store, Stored
from launcher.execute.world import World
from launcher.model import size
from launcher.model.site import Site
from launcher.text.advice import option, typed


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints what goes: what dead imports left, then files used least recently, until the rest fits."""
    site = storing.site(args)
    store = storing.store(args, site, terminal)
    most = _bytes(args.max_size)
    kept = _locked(args, site) if args.keep_locked else frozenset[str]()
    kept |= {text for image in site.cluster.images.values() if (text := image.meant(site.cluster.arch))}
    kept |= {image.baked.base for image in site.cluster.images.values() if image.baked}
    built = Builds.of(site, args.lock)
    kept |= {each.reference for alias in site.cluster.images for each in built.found(alias)}
    try:
        with store.writing():
            for line in _gone(args, store, most, kept):
                terminal.say(line)
    except Failure as failure:
        raise storing.failed(failure) from failure
    left = sum(each.size for each in store.all())
    terminal.note(f"{storing.size(left)} in `{store.folder}`" + (" (nothing was taken away)" if args.dry_run else ""))
    return 0


def _gone(args: argparse.Namespace, store: Store, most: int | None, kept: frozenset[str]) -> Iterator[str]:
    """What was taken away, or would be. Raises Failure and OSError."""
    for path in remains.left(store.folder):
        if args.dry_run or remains.clear(store.world, path):
            yield str(path)
    yield from _berths(store.world, dry=args.dry_run)
    for each in _going(store, most, kept) if most is not None else ():
        if not args.dry_run:
            store.remove(each)
        yield str(each.path)


def _berths(world: World, *, dry: bool) -> Iterator[str]:
    """Names of what bakes by Docker left, once there were such."""
    if not any(berth.folder(world).glob("*.lock")):
        return
    try:
        with closing(import_module("launcher.execute.images.daemon").connect(world)) as daemon:
            yield from berth.clear(world, daemon, dry=dry)
    except Failure as failure:
        if failure.kind != "absent":
            raise


def _going(store: Store, most: int, kept: frozenset[str]) -> list[Stored]:
    files = sorted(store.all(), key=lambda each: each.used)
    left = sum(each.size for each in files)
    going = []
    for each in files:
        if left <= most:
            break
        if str(each.path) not in kept and each.facts.get("manifest") not in kept:
            going.append(each)
            left -= each.size
    return going


def _locked(args: argparse.Namespace, site: Site) -> frozenset[str]:
    lock = locks.read(Path(args.lock) if args.lock else locks.path())
    if lock is None:
        advice = typed("images lock", site.option, option("lock", args.lock or ""))
        raise Usage("`--keep-locked` wants a lock, and there is none", advice=f"{advice}, or `--lock FILE`")
    return frozenset(word for each in lock.image for word in (each.manifest, each.reference) if word)


def _bytes(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return size.mebibytes(text) << 20
    except ValueError as error:
        raise Usage(f"`--max-size` {error}", advice=f"write {size.FORMS}") from error
