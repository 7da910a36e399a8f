"""`launch images build NAME…`: definitions built, pushed, made into image files, and written down."""

import argparse
import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from launcher.cli import arguments
from launcher.cli.guard import Usage
from launcher.cli.images import entry, storing
from launcher.cli.table import table
from launcher.cli.terminal import Terminal
from launcher.execute.images import aliases, answers, buildable, locks
from launcher.execute.images.build import Builder, Builds, Order
from launcher.execute.images.failure import Failure
from launcher.execute.images.making import Made, Making
from launcher.execute.library import Files
from launcher.execute.world import Real
from launcher.images import building
from launcher.images.reference import Reference
from launcher.model.definition import BASE, Definition, find, read, unknown
from launcher.model.linking import Linking
from launcher.model.site import Site
from launcher.text.diagnostic import Refused


@dataclass(frozen=True)
class Wanted:
    """A word of the command line: the alias it is or will be, and what is to be built."""

    alias: str
    order: Order
    goals: tuple[Reference, ...]


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints what came of each; one that fails ends it, with exit code 4."""
    site = storing.site(args)
    wanted = [_wanted(word, args, site) for word in args.alias]
    if args.adopt and site.cluster.runtime == "none":
        raise Usage(f"cluster `{site.cluster.name}` starts no containers", advice="`--cluster` names one that does")
    world = Real()
    registry = answers.registry(frozenset(site.cluster.plain_http))
    store = storing.store(args, site, terminal) if args.store or site.cluster.store else None
    lock = Path(args.lock) if args.lock else locks.path()
    with storing.interruptible(), closing(Builds(world, registry, terminal.note, terminal.status)) as builds:
        making = Making(world, builds, site, store, lock, args.again, within=args.store is not None)
        try:
            made = [_made(each, making, args, terminal) for each in wanted]
        except Failure as failure:
            raise storing.failed(failure, "build-failed") from failure
    _told(made, args, terminal)
    return 0


def _made(each: Wanted, making: Making, args: argparse.Namespace, terminal: Terminal) -> Made:
    if args.dry_run:
        return making.planned(each.order, each.goals)
    made = making.make(each.order, each.goals)
    goal = aliases.target(making.world, arguments.cluster(args)) if args.adopt else None
    for note in making.recorded(made, each.alias, goal):
        terminal.note(note)
    return made


def _told(made: list[Made], args: argparse.Namespace, terminal: Terminal) -> None:
    if args.json:
        shown = [each.document() for each in made]
        terminal.say(json.dumps({"schema": 1, "images": shown}, indent=2))
        return
    rows = [
        (each.order.definition.name, each.order.arch, each.order.builder, each.order.key[:12], each.base, each.shown)
        for each in made
    ]
    what = "would be" if args.dry_run else "is"
    terminal.say(table(("definition", "arch", "with", "key", "base", what), rows, color=terminal.color_out))


def _wanted(word: str, args: argparse.Namespace, site: Site) -> Wanted:
    image = site.cluster.images.get(word)
    own: Mapping[str, str] = image.args if image and image.build else {}
    name = image.build if image and image.build else word
    said = {**entry.arguments(args.arguments), **({BASE: args.base} if args.base else {})}
    definition = _definition(name, {**own, **said})
    buildable.named(definition, said)
    folder = Files().definitions.path(name)
    arch = args.arch or site.cluster.arch or platform.machine()
    if arch not in definition.file.arch:
        known = ", ".join(definition.file.arch)
        raise Usage(f"`{name}` is not built for {arch}", advice=f"`arch` of its definition has {known}")
    wheels = _folder(args.wheels)
    folder = folder or Path(name)
    builder = args.builder or _builder(definition, folder, args, site)
    if builder == "layers":
        buildable.layered(definition, folder)
    else:
        buildable.based(definition, folder, builder)
    order = Order(definition, folder, arch, builder, wheels, args.network, args.again)
    return Wanted(word, order, tuple(_goals(order, args)))


def _definition(name: str, args: Mapping[str, str]) -> Definition:
    """Raises Refused and Usage."""
    linking = Linking(Files())
    folder = find(linking, name, None, command=True)
    found = read(linking, folder, args) if folder is not None else None
    if found is None:
        raise Refused(linking.findings)
    for strange in unknown(args, found.file):
        known = (BASE, *found.file.args)
        raise Usage(f"`{name}` has no build argument `{strange}`", strange, known, f"it has {', '.join(known)}")
    return found


def _builder(definition: Definition, folder: Path, args: argparse.Namespace, site: Site) -> Builder:
    if buildable.copies(definition, folder):
        return "layers"
    return "apptainer" if site.cluster.runtime == "apptainer" and not args.push else "docker"


def _goals(order: Order, args: argparse.Namespace) -> Iterator[Reference]:
    """Where it is pushed to. Raises Usage."""
    if args.push is None:
        return
    if order.builder == "apptainer":
        raise Usage("a file of Apptainer is pushed nowhere", advice="`--with docker`, or without `--push`")
    tags = args.tags or [building.tag(order.definition, order.key)]
    try:
        found = building.goals(args.push, order.definition.name, tags)
    except ValueError as error:
        raise Usage(f"`--push`: {error}", advice="`ghcr.io/me`, or `ghcr.io/me/smg:1.13.0`") from error
    if len(args.alias) > 1 and not building.place(args.push):
        raise Usage("several images cannot have one reference", advice="`--push ghcr.io/me`")
    yield from found


def _folder(word: str | None) -> Path | None:
    if word is None:
        return None
    folder = Path(word)
    if not folder.is_dir():
        raise Usage(f"`--wheels`: `{word}` is no folder", advice="`pip download --dest FOLDER …` fills one")
    return folder
