"""Documents of a registry: an index of platforms, a manifest of layers, the configuration of an image.

Facts: OCI image-spec 1.1 and Docker's image manifest v2 schema 2, which differ in nothing but the names of their
types. Schema 1 has not been served by Docker Hub since 2025. Docker's names of architectures are Go's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from launcher.run.record import record

INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)

_OURS = {"amd64": "x86_64", "arm64": "aarch64"}

Compression = Literal["gzip", "zstd", "none"]


@record
class Descriptor:
    """A blob by its digest; `size` in bytes."""

    digest: str
    size: int


@record
class Layer:
    """A layer as the registry has it."""

    digest: str
    size: int
    compression: Compression


@record
class Platform:
    """One entry of an index. `arch` as `uname -m` has it where that is known, else as Go does."""

    digest: str
    arch: str
    os: str


@record
class Manifest:
    """What makes one image."""

    digest: str
    config: Descriptor
    layers: tuple[Layer, ...]

    @property
    def size(self) -> int:
        """Bytes that are downloaded for the image."""
        return self.config.size + sum(layer.size for layer in self.layers)


@record
class Config:
    """What an image says of itself. `env` are `NAME=VALUE`; `commands` what its layers were made by, oldest first."""

    arch: str
    os: str
    env: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    workdir: str = ""
    user: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    volumes: tuple[str, ...] = ()
    diffs: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


def architecture(name: str) -> str:
    """Go's name of an architecture as `uname -m` has it; unknown ones stay."""
    return _OURS.get(name, name)


def goarch(name: str) -> str:
    """The name of an architecture as Go has it; unknown ones stay."""
    return next((go for go, ours in _OURS.items() if ours == name), name)


def digest(body: bytes) -> str:
    """`sha256:…` of a document."""
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def read(body: bytes) -> tuple[Platform, ...] | Manifest:
    """An index, as its platforms, or a manifest. Raises ValueError with a phrase for anything else."""
    data = _object(body, "manifest")
    kind = data.get("mediaType") or ("manifests" if "manifests" in data else "config" if "config" in data else "")
    if kind in INDEXES or kind == "manifests":
        return tuple(_platform(entry) for entry in _list(data, "manifests") if _runs(entry))
    if kind in MANIFESTS or kind == "config":
        config = _descriptor(data.get("config"))
        return Manifest(digest(body), config, tuple(_layer(entry) for entry in _list(data, "layers")))
    if data.get("schemaVersion") == 1:
        raise ValueError("the image has a manifest of schema 1, which no runtime reads any more: push it again")
    raise ValueError(f"`{kind or 'no media type'}` is neither an index nor the manifest of an image")


def kind(body: bytes) -> str:
    """The type of a manifest or an index, as a registry is told it."""
    return str(_object(body, "manifest").get("mediaType") or MANIFESTS[0])


def config(body: bytes) -> Config:
    """The configuration of an image. Raises ValueError with a phrase."""
    data = _object(body, "configuration")
    if not isinstance(data.get("architecture"), str):
        raise ValueError("the configuration of the image names no architecture: it is no container image")
    own, root = _table(data, "config"), _table(data, "rootfs")
    history = data.get("history") or []
    if not isinstance(history, list):
        raise ValueError("`history` in the configuration of the image is no list")
    return Config(
        arch=architecture(data["architecture"]),
        os=str(data.get("os", "linux")),
        env=_texts(own.get("Env")),
        entrypoint=_texts(own.get("Entrypoint")),
        cmd=_texts(own.get("Cmd")),
        workdir=str(own.get("WorkingDir") or ""),
        user=str(own.get("User") or ""),
        labels=tuple((str(name), str(value)) for name, value in _table(own, "Labels").items()),
        volumes=tuple(_table(own, "Volumes")),
        diffs=_texts(root.get("diff_ids")),
        commands=tuple(str(each.get("created_by", "")) for each in history if isinstance(each, dict)),
    )


def chosen(platforms: Sequence[Platform], arch: str) -> Platform | None:
    """The entry of an index for Linux on `arch`, the first where `arch` is empty."""
    return next((each for each in platforms if each.os == "linux" and arch in ("", each.arch)), None)


def _runs(entry: Any) -> bool:
    """Attestations of buildkit stand in an index as platforms `unknown`."""
    platform = entry.get("platform") if isinstance(entry, dict) else None
    return isinstance(platform, dict) and platform.get("architecture", "unknown") != "unknown"


def _platform(entry: Mapping[str, Any]) -> Platform:
    platform = entry["platform"]
    found = _descriptor(entry)
    return Platform(found.digest, architecture(str(platform["architecture"])), str(platform.get("os", "")))


def _layer(entry: Any) -> Layer:
    found = _descriptor(entry)
    kind = str(entry.get("mediaType", ""))
    for suffix, compression in _COMPRESSIONS:
        if kind.endswith(suffix):
            return Layer(found.digest, found.size, compression)
    raise ValueError(f"a layer of type `{kind}` is none of a container image")


_COMPRESSIONS: tuple[tuple[str, Compression], ...] = (
    ("tar+gzip", "gzip"),
    ("tar.gzip", "gzip"),
    ("tar+zstd", "zstd"),
    ("tar.zstd", "zstd"),
    (".tar", "none"),
)


def _descriptor(entry: Any) -> Descriptor:
    if (
        not isinstance(entry, dict)
        or not isinstance(entry.get("digest"), str)
        or not isinstance(entry.get("size"), int)
    ):
        raise ValueError("the manifest does not say digest and size of what it names")
    text: str = entry["digest"]
    kind, _, value = text.partition(":")
    if kind != "sha256" or len(value) != 64 or set(value) - set("0123456789abcdef"):
        raise ValueError(f"`{text}` is no digest of the kind sha256")
    return Descriptor(text, entry["size"])


def _object(body: bytes, what: str) -> dict[str, Any]:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError(f"the {what} is no JSON") from None
    if not isinstance(data, dict):
        raise ValueError(f"the {what} is no JSON object")
    return data


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    found = data.get(key)
    if not isinstance(found, list):
        raise ValueError(f"the manifest has no list of {key}")
    return found


def _table(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = data.get(key) or {}
    if not isinstance(found, dict):
        raise ValueError(f"`{key}` in the configuration of the image is no JSON object")
    return found


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()
