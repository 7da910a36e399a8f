"""Definitions of images: a folder with what an image is made from, and `image.toml`, which says so."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from launcher.model.library import Folder
from launcher.model.linking import Linking
from launcher.model.lock import Digest
from launcher.model.recipe import Table
from launcher.model.value import Schema
from launcher.run.record import record
from launcher.text.diagnostic import Diagnostic, Place, Refused
from launcher.text.document import Document, KeyPath

FILE = "image.toml"
CONTAINERFILE = "Containerfile"
BASE = "BASE"
"""The argument that Containerfile and `.def` are told their base by."""

Arch = Literal["x86_64", "aarch64"]
Argument = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,62}$")]
Inside = Annotated[str, Field(pattern=r"^/[^\x00-\x1f]*[^/\x00-\x1f]$")]

_NAME = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*")
"""A component of a repository's name (OCI distribution-spec 1.1, "Pulling manifests"), which a build is pushed to."""

NAMES = "lower-case letters and digits, with `.`, `_` or `-` between them"

_NAMED = re.compile(r"\$\{([^}]*)\}")


class Base(Table):
    """`[base]`: the image that it begins with."""

    reference: str = Field(min_length=1, description="registry reference; `${NAME}` stands for an argument")
    digest: Digest | None = Field(
        default=None, description="pins it; without one the tag is asked when the image is built, and the digest kept"
    )


class Copied(Table):
    """`[[copy]]`: a file or folder taken out of another image. An image of nothing else needs no Docker."""

    from_: str = Field(alias="from", min_length=1, description="reference of that image; `${NAME}` as in `[base]`")
    digest: Digest | None = Field(default=None, description="pins it")
    source: Inside = Field(description="absolute path in that image")
    target: Inside = Field(description="absolute path in this one")


class ImageFile(Table):
    """`images/NAME/image.toml`."""

    schema_: Schema = Field(alias="schema", description="version of this format")
    description: str = Field(min_length=1, description="one line, which becomes a label of the image")
    arch: Annotated[list[Arch], Field(min_length=1)] = Field(description="architectures that it can be built for")
    base: Base = Field(description="the image that it begins with")
    args: dict[Argument, str] = Field(
        default={}, description="build arguments and their defaults, versions above all; never a secret"
    )
    programs: dict[str, str] = Field(
        default={}, description="program → version that the image has; `${NAME}` stands for an argument"
    )
    copies: list[Copied] = Field(default=[], alias="copy", description="what is taken out of other images, in order")


@record
class Definition:
    """One that can be read, with the arguments that count: its own, those of an alias, those of a command line."""

    folder: Folder
    file: ImageFile
    args: Mapping[str, str]
    base: str
    """The base as it was asked for, arguments filled in; with a digest where it is pinned."""

    @property
    def name(self) -> str:
        """The folder's."""
        return self.folder.name

    @property
    def programs(self) -> dict[str, str]:
        """Program → version, arguments filled in."""
        return {name: fill(text, self.args) for name, text in self.file.programs.items()}

    @property
    def copies(self) -> tuple[tuple[str, str, str], ...]:
        """(image, path in it, path in this one) of all that is copied."""
        return tuple(
            (pinned(each.from_, each.digest, self.args), each.source, each.target) for each in self.file.copies
        )

    def key(self, arch: str) -> str:
        """sha256 of all that decides what is built: the files, the arguments, the base that was asked for, `arch`."""
        whole = {"files": self.folder.files, "args": dict(sorted(self.args.items())), "base": self.base, "arch": arch}
        return hashlib.sha256(json.dumps(whole, ensure_ascii=True).encode()).hexdigest()


def read(linking: Linking, folder: Folder, args: Mapping[str, str] = {}) -> Definition | None:
    """The definition with these arguments above its own; `BASE` is another base. None and findings."""
    file = linking.read(ImageFile, folder.document)
    if file is None:
        return None
    found = [*_unfilled(folder.document, file), *_strayed(folder.document, file)]
    linking.findings.extend(found)
    if found:
        return None
    every = {**file.args, **{name: value for name, value in args.items() if name != BASE}}
    return Definition(folder, file, every, args.get(BASE) or pinned(file.base.reference, file.base.digest, every))


def find(linking: Linking, name: str, place: Place | None, *, command: bool = False) -> Folder | None:
    """The definition of that name, or None and findings; `place` names it, or the command line does."""
    try:
        folder = linking.library.image(name)
    except Refused as refused:
        linking.findings.extend(refused.diagnostics)
        return None
    if folder is not None and not named(name):
        message = f"the definition `{name}` is called as no image can be"
        linking.refuse("misnamed-definition", message, Place(folder.document), f"rename its folder: {NAMES}")
        return None
    if folder is None:
        help_ = linking.known(name, linking.library.images(), "image definitions")
        linking.refuse("unknown-definition", f"no image definition is named `{name}`", place, help_, command=command)
    return folder


def named(name: str) -> bool:
    """Whether an image in a registry can be called so."""
    return _NAME.fullmatch(name) is not None and len(name) < 64


def fill(text: str, args: Mapping[str, str]) -> str:
    """The text with `${NAME}` filled in. Raises KeyError for a name that is no argument."""
    return _NAMED.sub(lambda found: args[found[1]], text)


def pinned(text: str, digest: str | None, args: Mapping[str, str]) -> str:
    """A reference with its arguments filled in, and its digest behind it."""
    filled = fill(text, args)
    return f"{filled}@{digest}" if digest and "@" not in filled else filled


def unknown(args: Mapping[str, str], file: ImageFile) -> Iterator[str]:
    """Arguments that the definition has not."""
    yield from (name for name in args if name != BASE and name not in file.args)


def _unfilled(document: Document, file: ImageFile) -> Iterator[Diagnostic]:
    """Names in `${…}` that are no arguments."""
    for path, text in _texts(file):
        for name in _NAMED.findall(text):
            if name not in file.args:
                known = ", ".join(f"`{each}`" for each in file.args) or "there are none"
                message = f"`${{{name}}}` is none of the build arguments"
                yield Diagnostic("unknown-argument", message, Place(document, path), help=f"`[args]` has: {known}")


def _strayed(document: Document, file: ImageFile) -> Iterator[Diagnostic]:
    """Paths that leave the image, or that mean something else in a layer."""
    for index, each in enumerate(file.copies):
        for key, path in (("source", each.source), ("target", each.target)):
            place, parts = Place(document, ("copy", index, key)), path.split("/")
            if ".." in parts:
                help_ = "write the path that it comes to"
                yield Diagnostic("wrong-value", f"`{path}` has `..` in it", place, help=help_)
        # OCI image-spec 1.1, "Whiteouts".
        if any(part.startswith(".wh.") for part in each.target.split("/")):
            message = f"`{each.target}` has a name with `.wh.` in front, which takes a file away in a layer"
            yield Diagnostic("wrong-value", message, Place(document, ("copy", index, "target")), help="another name")


def _texts(file: ImageFile) -> Iterator[tuple[KeyPath, str]]:
    yield ("base", "reference"), file.base.reference
    yield from ((("programs", name), text) for name, text in file.programs.items())
    yield from ((("copy", index, "from"), each.from_) for index, each in enumerate(file.copies))
