"""A role on the way: merged, not yet sound; what its image, version, preamble and mounts are."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from launcher.model.built import built, stale
from launcher.model.equipment import Kit
from launcher.model.job import Origin, Origins
from launcher.model.library import Library
from launcher.model.linking import Linking, text
from launcher.model.lock import LockedImage, Locks
from launcher.model.merge import Identity, Layer, Twice, merge
from launcher.model.recipe import Mount
from launcher.model.site import LAYER, Site
from launcher.run.record import mutable
from launcher.run.script import CLOSE, OPEN
from launcher.text.advice import typed
from launcher.text.diagnostic import Diagnostic, Label, Place, Refused, Severity
from launcher.text.document import Document, KeyPath

MANIFEST = "role manifest"
"""Name of the layer that a role manifest makes."""

# `docker://`, an image, and a tag that begins with a version: `v0.33.0-cu130`, `1.3.0rc24`, `v0.5.16.post1`.
_TAGGED = re.compile(
    r"(?:docker://)?(?P<name>[^@]+?):v?(?P<version>\d+\.\d+\.\d+(?:rc\d+)?(?:\.post\d+)?)(?:[-+][\w.+-]*)?(?:@[^@]+)?"
)
_LATE = (OPEN, CLOSE, "\0")


@mutable
class Draft:
    """`data` is what was merged for the role, `chains` where each key of it came from."""

    name: str
    kit: Kit
    data: dict[str, Any]
    chains: dict[KeyPath, tuple[Origin, ...]]
    fallback: Document
    twice: Sequence[Twice] = ()

    def place(self, *path: str | int) -> Place:
        """Where a key of the role was written."""
        return Origins(self.chains, self.fallback).place(path)


def reference(linking: Linking, site: Site, draft: Draft, held: LockedImage | None) -> str | None:
    """What the role's image alias means on the cluster, or None and perhaps findings.

    Without containers any alias will do, and an absolute path stands for itself. Of one that is a definition what was
    built of it is `held`.
    """
    alias = text(draft.data, "image")
    image = site.cluster.images.get(alias) if alias else None
    if image is not None and alias is not None:
        key = "build" if image.build else image.key(site.cluster.arch)
        if key is None:
            _other_architecture(linking, site, draft, alias)
            return None
        draft.chains["reference",] = _written(site, alias, key)
        return built(linking, site, alias, held) if image.build else image.meant(site.cluster.arch)
    if not site.containers:
        if alias and not alias.startswith("/"):
            _similar_image(linking, site, draft, alias)
        return alias if alias and alias.startswith("/") else None
    if alias is not None:
        _unknown_image(linking, site, draft, alias)
    elif "image" not in draft.data and (draft.kit.manifest.program.command or draft.kit.manifest.program.name):
        message = f"role `{draft.name}` has no image, and `{site.cluster.name}` starts everything in containers"
        help_ = linking.known("", site.cluster.images, 'add `image = "…"`; image aliases')
        linking.refuse("missing-image", message, draft.place("image"), help_)
    return None


def _written(site: Site, alias: str, key: str) -> tuple[Origin, ...]:
    """Where an alias's reference stands: at its key, or the alias itself where it is nothing but the reference."""
    path: KeyPath = ("images", alias, key)
    return site.origins.chains.get(path) or site.origins.chains[path[:2]]


def _other_architecture(linking: Linking, site: Site, draft: Draft, alias: str) -> None:
    arch = site.cluster.arch
    place = site.origins.place(("images", alias), "key")
    what = f"of {arch}" if arch else "whose architecture nobody says"
    finding = Diagnostic(
        "image-architecture",
        f"image alias `{alias}` has no reference for nodes {what}",
        draft.place("image"),
        labels=(Label(place, "what it has"),),
        help=typed("images set", alias, f"REFERENCE --arch {arch}", site.option)
        if arch
        else "say `arch` in the cluster file",
        exit=4,
    )
    linking.findings.append(finding)


def _unknown_image(linking: Linking, site: Site, draft: Draft, alias: str) -> None:
    known = site.cluster.images
    implied = draft.chains["image",][-1].layer == MANIFEST
    labels = [Label(site.origins.place(("images",), "key"), f"its aliases: {len(known)}")] if known else []
    if implied:
        labels.append(Label(draft.place("image"), "what the role manifest says"))
    # A name that nobody has typed is not misspelt.
    near = None if implied else linking.suggestions.nearest(alias, known)
    add = typed("images add", alias, "REFERENCE", site.option)
    others = linking.known("", known, "image aliases")
    finding = Diagnostic(
        "unknown-image",
        f"cluster `{site.cluster.name}` has no image alias `{alias}`",
        _appointed(draft) if implied else draft.place("image"),
        labels=tuple(labels),
        help=f"did you mean `{near}`?" if near else f'{add} makes it one, or `image = "…"` in the role; {others}',
    )
    linking.findings.append(finding)


def _appointed(draft: Draft) -> Place:
    """Where the recipe names the role's manifest, or what brings the role along."""
    for key in ("kind", "manifest"):
        chain = draft.chains.get((key,))
        if chain and chain[-1].layer != MANIFEST:
            return draft.place(key)
    return Origins({(): draft.chains[()]}, draft.fallback).place(("manifest",))


def _similar_image(linking: Linking, site: Site, draft: Draft, alias: str) -> None:
    """A warning for an alias in a recipe that is nearly one of the cluster's: its environment would not be used."""
    found = linking.suggestions.nearest(alias, site.cluster.images)
    if found and draft.chains["image",][-1].layer != MANIFEST:
        message = f"cluster `{site.cluster.name}` has no image alias `{alias}`"
        help_ = f"did you mean `{found}`?"
        warning = Diagnostic("unknown-image", message, draft.place("image"), Severity.WARNING, help=help_)
        linking.findings.append(warning)


def locked(linking: Linking, site: Site | None, draft: Draft, locks: Locks | None) -> LockedImage | None:
    """What the lock has of the role's image; a finding where the alias means something else since."""
    alias = text(draft.data, "image")
    image = site.cluster.images.get(alias) if site and alias else None
    if site is None or image is None or alias is None or locks is None:
        return None
    key, found = image.key(site.cluster.arch), locks.find(site.cluster.name, alias, site.cluster.arch)
    if image.build is not None and found is not None and found[0].build is not None:
        stale(linking, site, alias, found)
        return found[0]
    if key is None or found is None:
        return None
    was, place = found
    if was.reference == image.meant(site.cluster.arch):
        return was
    anew = typed("images lock", alias, site.option, linking.library.lock_option())
    finding = Diagnostic(
        "lock-stale",
        f"image alias `{alias}` means something else than when it was locked",
        Origins({(): _written(site, alias, key)}, draft.fallback).place(()),
        labels=(Label(place, "what was locked"),),
        help=f"{anew} locks it anew, and so does `--update-lock` of `launch up`",
        exit=4,
    )
    linking.findings.append(finding)
    return None


def version(library: Library, site: Site | None, draft: Draft, held: LockedImage | None = None) -> str | None:
    """Version of the role's program: as the recipe says, else the image alias, else what was found in the image when
    it was locked, else its tag where its tags are versions of that program, else the role manifest.
    """
    program = draft.kit.manifest.program
    found: list[tuple[str | None, tuple[Origin, ...]]] = []
    if program.version is not None:
        origin = Origin(draft.kit.document, ("program", "version"), MANIFEST)
        found.append((program.version, (origin,)))
    alias = text(draft.data, "image")
    image = site.cluster.images.get(alias) if site and alias else None
    key = image.key(site.cluster.arch) if site and image and not image.build else None
    if site and image and image.build and program.name and held is not None and program.name in held.versions:
        found.append((held.versions[program.name], _written(site, str(alias), "build")))
    if site and image and key and program.name:
        derived = image.derived(site.cluster.arch)
        tagged = _tagged(library, program.name, derived.base if derived else image.meant(site.cluster.arch) or "")
        found += [(tagged, _written(site, str(alias), key))] if tagged is not None else []
    if site and key and held is not None and program.name in held.versions:
        found.append((held.versions[program.name], _written(site, str(alias), key)))
    if site and image and program.name in image.versions:
        path: KeyPath = ("images", str(alias), "versions", program.name)
        found.append((image.versions[program.name], site.origins.chains.get(path, ())))
    said = text(draft.data, "version")
    if said is not None:
        found.append((said, draft.chains.get(("version",), ())))
    if not found:
        return None
    draft.chains["version",] = tuple(origin for _, chain in found for origin in chain)
    return found[-1][0]


def _tagged(library: Library, program: str, reference: str) -> str | None:
    """The version that an image's tag is, for the images of `names.toml` alone: others' tags are their own."""
    split = _TAGGED.fullmatch(reference.replace("#", "/"))
    if split is None:
        return None
    host = split["name"].partition("/")[0]
    name = split["name"] if "." in host or ":" in host else f"docker.io/{split['name']}"
    return split["version"] if library.names().tagged(name, program) else None


def preamble(linking: Linking, draft: Draft) -> str | None:
    """The text of `setup` or of the file that `setup_file` names, or None and perhaps findings."""
    if "setup_file" not in draft.data:
        return text(draft.data, "setup")
    name = text(draft.data, "setup_file")
    chain = draft.chains["setup",] = draft.chains["setup_file",]
    if name is None:
        return None
    try:
        found = linking.library.text(name, chain[-1].document)
    except (OSError, UnicodeDecodeError) as error:
        fault = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else _reason(error)
        place = draft.place("setup_file")
        help_ = "the path is relative to the file that names it"
        linking.refuse("setup-unreadable", f"the preamble `{name}` {fault}", place, help_)
        return None
    if any(mark in found for mark in _LATE):
        message = f"the preamble `{name}` has a character that cannot be used (NUL, U+FDD0 or U+FDD1)"
        linking.refuse("setup-unreadable", message, draft.place("setup_file"), "remove it")
    return found


def configuration(linking: Linking, draft: Draft, key: str, identity: Identity) -> Mapping[str, Any] | None:
    """The table at `key`, or what the YAML file has that it names; None and perhaps findings where there is neither."""
    value = draft.data.get(key)
    if not isinstance(value, str):
        return value if isinstance(value, Mapping) else None
    origin = draft.chains[key,][-1]
    named = (origin.document, value)
    if named not in linking.configurations:
        linking.configurations[named] = _configured(linking, draft.place(key), *named)
    document = linking.configurations[named]
    if document is None:
        return None
    linking.twice(merge([Layer(value, document, document.data)], lambda path, name: identity((key, *path), name)).twice)
    for path in _paths(document.data, ()):
        draft.chains[key, *path] = (Origin(document, path, value),)
    return document.data


def _configured(linking: Linking, place: Place, beside: Document, name: str) -> Document | None:
    try:
        return linking.library.configuration(name, beside)
    except (OSError, UnicodeDecodeError) as error:
        fault = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else _reason(error)
        help_ = "the path is relative to the file that names it"
        linking.refuse("configuration-unreadable", f"the file `{name}` {fault}", place, help_)
    except Refused as refused:
        linking.findings.extend(refused.diagnostics)
    return None


def _paths(value: Any, path: KeyPath) -> Iterator[KeyPath]:
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield (*path, key)
        yield from _paths(item, (*path, key))


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    return f"cannot be read: {(error.strerror or str(error)).lower()}"


def mounts(site: Site, draft: Draft) -> tuple[Mount, ...]:
    """The cluster's mounts, less those whose target the role mounts itself, then the role's own."""
    own = [(item, origin) for item, origin in _mounted(draft)]
    targets = {item["target"] for item, _ in own}
    found = [pair for pair in _site_mounts(site) if pair[0]["target"] not in targets] + own
    for path in [path for path in draft.chains if path[0:1] == ("mounts",) and len(path) > 1]:
        del draft.chains[path]
    for index, (item, origin) in enumerate(found):
        draft.chains["mounts", index] = (origin,)
        for key in item:
            draft.chains["mounts", index, key] = (Origin(origin.document, (*origin.path, key), origin.layer),)
    # Each was validated in its file.
    return tuple(Mount.model_construct(**item) for item, _ in found)


def _mounted(draft: Draft) -> Iterator[tuple[dict[str, Any], Origin]]:
    for index, item in enumerate(draft.data.get("mounts", ())):
        yield item, draft.chains["mounts", index][-1]


def _site_mounts(site: Site) -> Iterator[tuple[dict[str, Any], Origin]]:
    for document in reversed(site.documents):
        if "mounts" in document.data:
            for index, item in enumerate(document.data["mounts"]):
                yield item, Origin(document, ("mounts", index), LAYER)
            return
