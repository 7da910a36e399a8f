"""Image references: every spelling users have, one meaning, and the spelling each enroot understands.

Facts from enroot's `docker.sh` at 3.5.0, 4.0.1 and 4.1.2 and pyxis 0.20 and 0.24: pyxis takes a text for
a path if it starts with `/` or `.`, and puts `docker://` before what has no scheme. enroot before 4.0 knows only
`[USER@][REGISTRY#]IMAGE[:TAG]` (`nvcr.io/nvidia/x` goes to Docker Hub) and no digests; no release knows the
registry by the name `docker.io`, so Docker Hub's is left out.
"""

import re
from typing import Literal

from launcher.run.record import record

HUB = "docker.io"
_HUBS = frozenset({HUB, "index.docker.io", "registry-1.docker.io"})
_ADDRESSES = {HUB: "registry-1.docker.io"}
SQUASHFS = (".sqsh", ".squashfs")
SIF = (".sif",)
_FILES = (*SQUASHFS, *SIF, ".img")

# `$oauthtoken@` is a user of nvcr.io, no variable.
_SHORTHAND = r"~[\w.-]*(?:/|$)|\$(?:\w+|\{\w+\})(?:/|$)"

_DIGEST = r"(?P<rest>.*)@(?P<digest>sha256:[0-9a-f]{64})"
_TAG = r"(?P<rest>.*):(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})"
_REGISTRY = r"(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?"
_REPOSITORY = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*"
_USER = r"[A-Za-z0-9_.!~*'()%;:&=+$,-]+"
_DAEMON = r"[A-Za-z0-9/._:-]+"


@record
class Reference:
    """An image of a registry. `tag` is `latest` where the text names neither tag nor digest."""

    registry: str
    repository: str
    tag: str | None = None
    digest: str | None = None
    user: str | None = None

    def __str__(self) -> str:
        """As Docker spells it, registry included."""
        user = f"{self.user}@" if self.user else ""
        return f"docker://{user}{self.registry}/{self.repository}{self.version}"

    @property
    def version(self) -> str:
        """`:TAG`, `@DIGEST` or both."""
        return (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")


@record
class Daemon:
    """An image in the store of a Docker or Podman daemon on the node that imports it."""

    scheme: Literal["dockerd", "podman"]
    name: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.name}"


@record
class File:
    """An image file; `path` starts with `/` or `.`."""

    path: str

    def __str__(self) -> str:
        return self.path


Source = Reference | Daemon | File


def parse(text: str) -> Source:
    """What `text` means. Raises ValueError with a lower-case phrase that says what is wrong with it."""
    if not text or any(ord(letter) < 32 or ord(letter) == 127 for letter in text):
        raise ValueError("an image reference is one line of text")
    scheme, found, rest = text.partition("://")
    if not found:
        return _file(text) or _reference(text)
    reader = _SCHEMES.get(scheme)
    if reader is None:
        known = ", ".join(f"`{name}://`" for name in _SCHEMES)
        raise ValueError(f"unknown scheme `{scheme}://` in an image reference (known are {known})")
    if not rest:
        raise ValueError(f"nothing follows `{scheme}://` in an image reference")
    return reader(rest)


def _file(text: str) -> File | None:
    if text.startswith(("/", "./", "../")):
        return File(text)
    if re.match(_SHORTHAND, text):
        raise ValueError("neither `~` nor `$` is expanded in an image path: write it out, starting with `/`")
    if text.endswith(_FILES) and not any(letter in text for letter in ":#@"):
        return File(f"./{text}")
    return None


def _url(rest: str) -> Source:
    if not rest.startswith("/"):
        raise ValueError("`file://` wants an absolute path: `file:///path/to/image.sqsh`")
    return File(rest)


def _dockerd(rest: str) -> Source:
    return Daemon("dockerd", _daemon(rest))


def _podman(rest: str) -> Source:
    return Daemon("podman", _daemon(rest))


def _daemon(rest: str) -> str:
    if not re.fullmatch(_DAEMON, rest):
        raise ValueError(f"`{rest}` is not the name of an image in a daemon's store")
    return rest


def _reference(text: str) -> Reference:
    rest, digest = _cut(_DIGEST, text, "digest")
    if digest is None and "@sha256" in rest:
        raise ValueError("a digest is `@sha256:` and 64 hexadecimal digits in lower case")
    user, rest = _user(rest)
    registry, repository = _split(rest)
    repository, tag = _cut(_TAG, repository, "tag")
    if ":" in repository:
        raise ValueError(f"`{repository.partition(':')[2]}` is not a tag")
    if registry == HUB and "/" not in repository:
        repository = f"library/{repository}"
    if not re.fullmatch(_REPOSITORY, repository):
        lower = " (repositories are in lower case)" if repository.lower() != repository else ""
        raise ValueError(f"`{repository}` is not the name of a repository{lower}")
    return Reference(registry, repository, tag or (None if digest else "latest"), digest, user)


def _cut(pattern: str, text: str, part: str) -> tuple[str, str | None]:
    found = re.fullmatch(pattern, text)
    return (found["rest"], found[part]) if found else (text, None)


def _user(text: str) -> tuple[str | None, str]:
    user, found, rest = text.rpartition("@")
    if not found:
        return None, text
    if not re.fullmatch(_USER, user):
        raise ValueError(f"`{user}` is not a user name for a registry")
    return user, rest


def _split(text: str) -> tuple[str, str]:
    registry, found, repository = text.partition("#")
    if not found:
        registry, found, repository = text.partition("/")
        # A first part without dot, port or the name localhost is a namespace of Docker Hub.
        if not found or not ("." in registry or ":" in registry or registry == "localhost"):
            return HUB, text
    if not re.fullmatch(_REGISTRY, registry):
        raise ValueError(f"`{registry}` is not the address of a registry")
    return (HUB if registry in _HUBS else registry), repository


_SCHEMES = {"docker": _reference, "dockerd": _dockerd, "podman": _podman, "file": _url}


def number(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, for comparing: `4.1.2-1` is `(4, 1, 2)`, empty where it has none."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def fault(source: Source, enroot: str | None) -> str | None:
    """Why pyxis with that version of enroot cannot start the image; None where it can, or the version is unknown."""
    if isinstance(source, File):
        return astray(source, SIF, "an image of Apptainer, and pyxis wants a squashfs file (`.sqsh`)")
    known = number(enroot or "")
    if not known:
        return None
    if isinstance(source, Reference) and source.digest and known < (4,):
        return f"enroot {enroot} takes no digests (4.0 and later do)"
    if isinstance(source, Daemon) and source.scheme == "podman" and known < (3, 4):
        return f"enroot {enroot} does not know `podman://` (3.4 and later do)"
    return None


def astray(source: File, suffixes: tuple[str, ...], what: str) -> str | None:
    """Why a file cannot be the image: it is of a kind that `suffixes` tell, or where it is depends on who looks."""
    if source.path.endswith(suffixes):
        return f"`{source.path}` is {what}"
    if not source.path.startswith("/"):
        return f"`{source.path}` is no absolute path: write it out, starting with `/`"
    return None


def address(registry: str) -> str:
    """The host (and port) that is asked for images of a registry."""
    return _ADDRESSES.get(registry, registry)


def pyxis(source: Source) -> str:
    """The value of pyxis's `--container-image`, for every enroot that `fault` does not rule out."""
    if isinstance(source, Daemon | File):
        return str(source)
    user = f"{source.user}@" if source.user else ""
    first, found, _ = source.repository.partition("/")
    namespace = found and "." not in first and first != "localhost"
    registry = "" if source.registry == HUB and namespace else f"{address(source.registry)}#"
    return f"{user}{registry}{source.repository}{source.version}"
