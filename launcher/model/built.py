"""Aliases that are definitions: what was built of them, and whether it is still what they say."""

from launcher.model.definition import BASE, Definition, find, read, unknown
from launcher.model.linking import Linking
from launcher.model.lock import LockedImage
from launcher.model.site import Site
from launcher.text.advice import typed
from launcher.text.diagnostic import Diagnostic, Label, Place, Severity


def built(linking: Linking, site: Site, alias: str, held: LockedImage | None) -> str | None:
    """The reference of what was built of an alias, or None and, where containers are started, findings."""
    if held is not None:
        return held.reference
    name = site.cluster.images[alias].build
    if site.containers and name is not None and definition(linking, site, alias) is not None:
        linking.findings.append(unbuilt(site, alias, linking.library.lock_option()))
    return None


def definition(linking: Linking, site: Site, alias: str) -> Definition | None:
    """The definition that an alias is, with its arguments; None and findings."""
    image = site.cluster.images[alias]
    folder = find(linking, image.build or "", place(site, alias))
    found = read(linking, folder, image.args) if folder is not None else None
    if found is None:
        return None
    strange = list(unknown(image.args, found.file))
    for name in strange:
        help_ = linking.known(name, (BASE, *found.file.args), "its build arguments")
        where = site.origins.place(("images", alias, "args", name), "key")
        linking.refuse("unknown-argument", f"`{image.build}` has no build argument `{name}`", where, help_)
    return None if strange else found


def stale(linking: Linking, site: Site, alias: str, held: tuple[LockedImage, Place]) -> None:
    """A warning where the definition, or its arguments, are not what was built any more."""
    was, where = held
    found = definition(linking, site, alias)
    if found is None or found.key(was.arch) == was.build:
        return
    finding = Diagnostic(
        "image-stale",
        f"the definition `{found.name}` has changed since image alias `{alias}` was built",
        place(site, alias),
        Severity.WARNING,
        labels=(Label(where, "what was built, and is used"),),
        help=f"{typed('images build', alias, site.option, linking.library.lock_option())} builds it anew",
        exit=4,
    )
    linking.findings.append(finding)


def unbuilt(site: Site, alias: str, lock: str) -> Diagnostic:
    """The finding for an alias whose definition has not been built; by `lock` a command means the project's lock."""
    cluster, name = site.cluster, site.cluster.images[alias].build
    return Diagnostic(
        "image-not-built",
        f"image alias `{alias}` is the definition `{name}`, which has not been built for {cluster.arch or 'its nodes'}",
        place(site, alias),
        help=f"{typed('images build', alias, site.option, lock)} builds it",
        exit=4,
    )


def place(site: Site, alias: str) -> Place:
    """Where an alias names its definition."""
    return site.origins.place(("images", alias, "build"))
