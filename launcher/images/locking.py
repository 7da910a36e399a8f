"""What is locked of an image, how it is written, and what has changed since."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

import tomlkit

from launcher.model.facts import Image
from launcher.model.lock import Lock, LockedImage
from launcher.run.record import record

_HEAD = "# Written by `launch images lock`. What aliases meant, so that runs of the same recipe get the same images.\n"

_BASH = re.compile(r"^#!.*\bbash\b|\[\[ |\b(?:pipefail|source|declare|shopt|mapfile)\b|^\s*\w+\+?=\(", re.MULTILINE)


@record
class Entry:
    """Of which alias something is locked."""

    cluster: str
    alias: str
    arch: str


@record
class Made:
    """What an image was built from: the `key` of all that decides it, its base, the versions that are in it, and the
    digest of wheels where there were some.
    """

    key: str
    base: str
    versions: Mapping[str, str]
    wheels: str = ""


def built(image: LockedImage, made: Made) -> LockedImage:
    """What is locked of an image that we built; of versions what was found in it counts."""
    versions = {**made.versions, **image.versions}
    own = {"build": made.key, "base": made.base, "versions": versions, "wheels": made.wheels or None}
    return image.model_copy(update=own)


def again(image: LockedImage, was: LockedImage | None) -> LockedImage:
    """What is locked anew of an image that may be one that we built."""
    if was is None or was.build is None or was.base is None:
        return image
    return built(image, Made(was.build, was.base, was.versions, was.wheels or ""))


def locked(entry: Entry, reference: str, image: Image, sha256: str | None = None) -> LockedImage:
    """What is found out about an image, as it is locked. `sha256` is of a file."""
    programs = [*(("sh",) if image.shell else ()), *(image.programs or ())]
    return LockedImage(
        cluster=entry.cluster,
        alias=entry.alias,
        arch=entry.arch,  # type: ignore[arg-type]
        reference=reference,
        digest=image.digest or None,
        manifest=image.manifest or None,
        config=image.config or None,
        size=image.size,
        sha256=sha256,
        mtime=image.mtime or None,
        entrypoint=list(image.entrypoint),
        user=image.user,
        workdir=image.workdir,
        env=dict(each.partition("=")[::2] for each in image.env),
        programs=sorted(dict.fromkeys(programs)),
        versions=dict(image.versions),
    )


def bashed(text: str) -> bool:
    """Whether a preamble is written for bash: the `sh` of an image without it may read it otherwise, or not at all."""
    return _BASH.search(text) is not None


def bare(image: LockedImage) -> bool:
    """Whether nothing is known of what an image of a registry has, but that a shell has made it."""
    return image.manifest is not None and not image.versions and set(image.programs) <= {"sh"}


def merged(lock: Lock | None, new: Iterable[LockedImage]) -> Lock:
    """The lock with these in the place of what it had for their aliases."""
    found = {_key(each): each for each in lock.image} if lock else {}
    found |= {_key(each): each for each in new}
    return Lock(schema=1, image=[found[key] for key in sorted(found)])


def without(lock: Lock | None, cluster: str, aliases: Container[str] = ()) -> Lock:
    """The lock less what it has of these aliases of a cluster, or of all, for nodes of any architecture."""
    held = lock.image if lock else ()
    return Lock(
        schema=1, image=[each for each in held if each.cluster != cluster or (aliases and each.alias not in aliases)]
    )


def _key(each: LockedImage) -> tuple[str, str, str]:
    return each.cluster, each.alias, each.arch


def written(lock: Lock) -> str:
    """The text of `launch.lock`: the same for the same lock, an alias a table, so that a diff shows what changed."""
    document = tomlkit.document()
    document["schema"] = 1
    rows = tomlkit.aot()
    for each in lock.image:
        rows.append(
            tomlkit.item({key: value for key, value in each.model_dump().items() if value not in (None, "", [], {})})
        )
    if lock.image:
        document["image"] = rows
    return _HEAD + tomlkit.dumps(document)


def differences(old: LockedImage, new: LockedImage) -> Iterator[tuple[str, str, str]]:
    """(key, what was locked, what there is now) for everything that matters and is not the same."""
    before, after = old.model_dump(), new.model_dump()
    for key in LockedImage.model_fields:
        one, other = before[key], after[key]
        if key == "sha256" and (one is None or other is None):
            continue  # nobody hashed the file
        if one == other:
            continue
        if isinstance(one, dict):
            yield from (
                (f"{key}.{name}", str(one.get(name, "")), str(other.get(name, "")))
                for name in sorted({**one, **other})
                if one.get(name) != other.get(name)
            )
        elif isinstance(one, list):
            yield key, " ".join(one), " ".join(other)
        else:
            yield key, _text(one), _text(other)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
