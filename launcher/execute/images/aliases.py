"""Aliases edited in the file of a cluster: by one process at a time, whole or not at all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launcher.execute import reading
from launcher.execute.folder import NAME, exists
from launcher.execute.held import Held, editing, replace
from launcher.execute.library import Files, config
from launcher.execute.told import Told
from launcher.execute.world import World
from launcher.images import alias as alias_text
from launcher.images.alias import Entry
from launcher.images.use import use
from launcher.model.cluster import ARCHITECTURES, Cluster
from launcher.model.definition import find
from launcher.model.linking import Linking
from launcher.model.site import Site, site
from launcher.text.advice import option, typed
from launcher.text.diagnostic import Diagnostic, Place, Refused, refusal
from launcher.text.document import Document
from launcher.text.parse import parse
from launcher.text.suggest import nearest


@dataclass(frozen=True)
class Target:
    """The cluster called `name` on the command line, and the file in which its aliases are edited."""

    name: str
    file: Path
    known: str


def read(name: str, place: Place | None = None) -> Site:
    """The cluster as all its files make it. Raises Refused."""
    linking = Linking(Files())
    found = site(linking, name, place)
    if found is None:
        raise Refused(linking.findings)
    return found


def target(world: World, name: str) -> Target:
    """Which file is edited: the one that is named, else the user's own for the cluster. Raises Refused."""
    if "/" in name or name.endswith(".toml"):
        return Target(name, Path(name), Path(name).stem)
    folder = config(world.environ)
    if folder is None:
        raise refusal("operation-failed", "neither `XDG_CONFIG_HOME` nor `HOME` says where your files are", status=1)
    return Target(name, folder / "clusters" / f"{name}.toml", name)


def add(world: World, goal: Target, alias: str, entry: Mapping[str, Any], told: Told) -> None:
    """A new alias. Raises Refused where there is one of the name."""

    def change(found: Site, own: Document | None) -> str:
        if not NAME.fullmatch(alias):
            raise refusal("wrong-value", f"`{alias}` is no name for an image", "letters, digits, `.`, `_`, `-`", 3)
        if alias in found.cluster.images:
            place = found.origins.place(("images", alias), "key")
            message = f"cluster `{found.cluster.name}` has an image alias `{alias}` already"
            help_ = f"{typed('images set', alias, 'REFERENCE', found.option)} changes what it means"
            raise Refused([Diagnostic("alias-taken", message, place, help=help_)])
        return alias_text.put(own.text if own else alias_text.begun(goal.known), alias, plain(entry))

    _defined(entry)
    _edited(world, goal, change, alias, told)


def change(world: World, goal: Target, alias: str, entry: Mapping[str, Any], told: Told) -> Mapping[str, str]:
    """Changes what an alias means; returns versions that it had and that no longer hold.

    Keys of `entry` take the place of what the alias had. A new reference is of other programs.
    """
    old: dict[str, str] = {}

    def changed(found: Site, own: Document | None) -> str:
        image = _known(found, alias)
        whole = image.model_dump(exclude_defaults=True, exclude=_gone(entry))
        new = {**whole, **{key: value for key, value in entry.items() if key != "versions"}}
        stay = image.versions if new == whole else {}
        if "baked" not in entry and image.baked is not None and image.baked.image not in new.values():
            del new["baked"]
        versions = {**stay, **entry.get("versions", {})}
        old.update(image.versions)
        text = own.text if own else alias_text.begun(goal.known)
        return alias_text.put(text, alias, plain({**new, "versions": versions}))

    _defined(entry)
    _edited(world, goal, changed, alias, told)
    now = read(goal.name).cluster.images[alias].versions
    return {name: version for name, version in old.items() if name not in now}


def _defined(entry: Mapping[str, Any]) -> None:
    """Raises Refused where an alias is to be a definition that there is not."""
    linking = Linking(Files())
    if "build" in entry and find(linking, entry["build"], None, command=True) is None:
        raise Refused(linking.findings)


def _gone(entry: Mapping[str, Any]) -> set[str]:
    """Keys that an alias loses: a definition and a reference take each other's place."""
    if "build" in entry:
        return {"versions", "reference", *ARCHITECTURES, "where", "args"}
    if {"reference", *ARCHITECTURES} & entry.keys():
        return {"versions", "build", "args"}
    return {"versions"}


def remove(world: World, goal: Target, alias: str, told: Told) -> str | None:
    """Takes an alias away; returns the file below that still has one of its name, or None. Raises Refused."""
    left: list[str] = []

    def change(found: Site, own: Document | None) -> str:
        _known(found, alias)
        below = [each for each in found.documents if alias in each.data.get("images", {})]
        if own is None or alias not in own.data.get("images", {}):
            place = Place(below[-1], ("images", alias), "key")
            help_ = f"`{option('cluster', below[-1].name)}` edits that file, where you may"
            message = f"the alias `{alias}` is not in `{goal.file}`"
            raise Refused([Diagnostic("alias-elsewhere", message, place, help=help_)])
        left.extend(each.name for each in below if each.text != own.text)
        return alias_text.removed(own.text, alias)

    _edited(world, goal, change, None, told)
    return left[-1] if left else None


def plain(entry: Mapping[str, Any]) -> Entry:
    """The shortest spelling: a reference alone is a text."""
    full = {key: value for key, value in entry.items() if value}
    return str(full["reference"]) if full.keys() == {"reference"} else full


def _known(found: Site, alias: str) -> Any:
    image = found.cluster.images.get(alias)
    if image is None:
        like = nearest(alias, found.cluster.images)
        listed = ", ".join(f"`{name}`" for name in sorted(found.cluster.images))
        add = typed("images add", alias, "REFERENCE", found.option)
        advice = f"did you mean `{like}`?" if like else f"its aliases: {listed}" if listed else add
        raise refusal("unknown-image", f"cluster `{found.cluster.name}` has no image alias `{alias}`", advice, 2)
    return image


def _edited(
    world: World, goal: Target, change: Callable[[Site, Document | None], str], alias: str | None, told: Told
) -> None:
    if not exists(goal.file):
        read(goal.name)
        goal.file.resolve().parent.mkdir(parents=True, exist_ok=True)
    try:
        with editing(world, goal.file, told) as path:
            found = read(goal.name)
            own = parse(str(goal.file), reading.document_text(path, str(goal.file))) if exists(path) else None
            text = change(found, own)
            _sound(goal, text, alias, found.cluster)
            replace(path, text)
    except Held as error:
        raise refusal("file-locked", f"`{goal.file}` is being edited: {error}", "try again", 1) from error


def _sound(goal: Target, text: str, alias: str | None, on: Cluster) -> None:
    """Raises Refused where the file would not be one of a cluster any more, or the alias could not be used."""
    document = parse(str(goal.file), text)
    linking = Linking(Files())
    cluster = linking.read(Cluster, document)
    if cluster is None:
        raise Refused(linking.findings)
    if alias is None or on.runtime == "none":
        return
    for key in ("reference", *ARCHITECTURES):
        meant = getattr(cluster.images[alias], key)
        try:
            if meant is not None:
                use(meant, on)
        except ValueError as error:
            raise refusal("image-unusable", str(error), "see `launch explain image-unusable`", 4) from error
