"""What was built, written down: in `launch.lock` for the aliases that are the definition, in the cluster file for one
that is to mean it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from launcher.execute.images import aliases, locks
from launcher.execute.images.aliases import Target
from launcher.execute.library import Files
from launcher.execute.told import unheard
from launcher.execute.world import World
from launcher.images import locking
from launcher.images.locking import Entry, Made
from launcher.model.definition import BASE, Definition, read
from launcher.model.linking import Linking
from launcher.model.lock import Lock, LockedImage
from launcher.model.site import Site


@dataclass(frozen=True)
class Result:
    """What a definition came to for nodes of `arch`: `reference` is a file of the store, or in a registry; `wheels` is
    the digest of those it was built from.
    """

    definition: Definition
    arch: str
    key: str
    base: str
    reference: str
    wheels: str = ""


def meant(site: Site, result: Result) -> Iterator[str]:
    """The aliases of a cluster that are the definition, with the arguments that were used."""
    for alias, image in site.cluster.images.items():
        if image.build == result.definition.name:
            linking = Linking(Files())
            found = read(linking, result.definition.folder, image.args)
            if found is not None and found.key(result.arch) == result.key:
                yield alias


def adopt(world: World, goal: Target, site: Site, alias: str, result: Result) -> None:
    """Lets an alias mean what was built: one that is the definition stays that, with the arguments that were used."""
    image, definition = site.cluster.images.get(alias), result.definition
    if image is not None and image.build is not None:
        entry: Mapping[str, object] = {"build": definition.name, "args": _args(definition)}
    else:
        key = (image.key(result.arch) if image else None) or "reference"
        entry = {key: result.reference, "versions": definition.programs}
    change = aliases.change if image is not None else aliases.add
    change(world, goal, alias, entry, unheard)


def _args(definition: Definition) -> dict[str, str]:
    """The arguments that are not as they are by default."""
    own = definition.file.args
    args = {name: value for name, value in definition.args.items() if value != own[name]}
    file = definition.file.base
    linking = Linking(Files())
    plain = read(linking, definition.folder, args)
    return args if plain is None or plain.base == definition.base else {**args, BASE: definition.base or file.reference}


def record(world: World, file: Path, site: Site, names: list[str], result: Result) -> list[LockedImage]:
    """Writes what the result is for these aliases into the lock. Raises Failure, Refused and OSError."""
    made = Made(result.key, result.base, result.definition.programs, result.wheels)
    found = locks.looked(site, result.reference, result.arch, unheard)
    entries = [
        locking.built(locking.locked(Entry(site.cluster.name, name, result.arch), result.reference, *found), made)
        for name in names
    ]

    def change(old: Lock | None) -> Lock:
        # For nodes of another architecture an alias may have meant something else until now.
        own = [each for each in old.image if each.cluster == site.cluster.name and each.alias in names] if old else []
        kept = [each for each in own if locks.means(site, each)]
        return locking.merged(locking.without(old, site.cluster.name, names), [*kept, *entries])

    if entries:
        file.parent.mkdir(parents=True, exist_ok=True)
        locks.write(world, file, change, unheard)
    return entries
