"""Images of a registry made by hand: layers, configurations, manifests and indexes, in either dialect."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx
import zstandard

Compression = Literal["gzip", "zstd", "none"]
Dialect = Literal["oci", "docker"]

_TYPES: Mapping[Dialect, Mapping[str, str]] = {
    "oci": {
        "index": "application/vnd.oci.image.index.v1+json",
        "manifest": "application/vnd.oci.image.manifest.v1+json",
        "config": "application/vnd.oci.image.config.v1+json",
        "gzip": "application/vnd.oci.image.layer.v1.tar+gzip",
        "zstd": "application/vnd.oci.image.layer.v1.tar+zstd",
        "none": "application/vnd.oci.image.layer.v1.tar",
    },
    "docker": {
        "index": "application/vnd.docker.distribution.manifest.list.v2+json",
        "manifest": "application/vnd.docker.distribution.manifest.v2+json",
        "config": "application/vnd.docker.container.image.v1+json",
        "gzip": "application/vnd.docker.image.rootfs.diff.tar.gzip",
        "zstd": "application/vnd.docker.image.rootfs.diff.tar.zstd",
        "none": "application/vnd.docker.image.rootfs.diff.tar",
    },
}


@dataclass(frozen=True)
class Entry:
    """A member of a layer; `kind` is one of tarfile's types."""

    name: str
    data: bytes = b""
    kind: bytes = tarfile.REGTYPE
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    link: str = ""
    mtime: int = 1_700_000_000
    device: tuple[int, int] = (0, 0)
    xattrs: Mapping[str, str] = field(default_factory=dict)


def folder(name: str, mode: int = 0o755, **more: Any) -> Entry:
    """A directory."""
    return Entry(name, kind=tarfile.DIRTYPE, mode=mode, **more)


def symlink(name: str, target: str) -> Entry:
    """A symbolic link."""
    return Entry(name, kind=tarfile.SYMTYPE, link=target, mode=0o777)


def hard(name: str, target: str) -> Entry:
    """A hard link."""
    return Entry(name, kind=tarfile.LNKTYPE, link=target)


def tar(entries: Iterable[Entry]) -> bytes:
    """The layer as a tar archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for each in entries:
            info = tarfile.TarInfo(each.name)
            info.type, info.mode, info.mtime, info.linkname = each.kind, each.mode, each.mtime, each.link
            info.uid, info.gid, info.size = each.uid, each.gid, len(each.data)
            info.devmajor, info.devminor = each.device
            info.pax_headers = {f"SCHILY.xattr.{name}": value for name, value in each.xattrs.items()}
            archive.addfile(info, io.BytesIO(each.data))
    return buffer.getvalue()


def pressed(body: bytes, how: Compression) -> bytes:
    """The bytes as a layer is stored."""
    if how == "zstd":
        return zstandard.compress(body, 3)
    return gzip.compress(body, 1, mtime=0) if how == "gzip" else body


def digest(body: bytes) -> str:
    """`sha256:…`."""
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


@dataclass(frozen=True)
class Made:
    """An image of one architecture: blobs by digest, and its manifest."""

    blobs: Mapping[str, bytes]
    manifest: bytes
    kind: str
    arch: str
    config: str

    @property
    def digest(self) -> str:
        """Of the manifest."""
        return digest(self.manifest)

    @property
    def size(self) -> int:
        """Bytes of all blobs."""
        return sum(map(len, self.blobs.values()))


def image(
    layers: Sequence[Sequence[Entry] | bytes],
    *,
    arch: str = "amd64",
    config: Mapping[str, Any] | None = None,
    compression: Compression = "gzip",
    dialect: Dialect = "oci",
    history: Sequence[str] = (),
) -> Made:
    """An image of these layers, lowest first; `config` is what the `config` of its configuration holds."""
    types = _TYPES[dialect]
    tars = [each if isinstance(each, bytes) else tar(each) for each in layers]
    stored = [pressed(each, compression) for each in tars]
    whole = {
        "architecture": arch,
        "os": "linux",
        "config": dict(config or {}),
        "rootfs": {"type": "layers", "diff_ids": [digest(each) for each in tars]},
        "history": [{"created_by": each} for each in history],
    }
    text = json.dumps(whole).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": types["manifest"],
        "config": {"mediaType": types["config"], "digest": digest(text), "size": len(text)},
        "layers": [{"mediaType": types[compression], "digest": digest(each), "size": len(each)} for each in stored],
    }
    blobs = {digest(each): each for each in (text, *stored)}
    return Made(blobs, json.dumps(manifest).encode(), types["manifest"], arch, digest(text))


def index(images: Sequence[Made], dialect: Dialect = "oci") -> tuple[bytes, str]:
    """An index of images of several architectures, with an attestation as buildkit makes; and its type."""
    entries = [
        {
            "mediaType": each.kind,
            "digest": each.digest,
            "size": len(each.manifest),
            "platform": {"architecture": each.arch, "os": "linux"},
        }
        for each in images
    ]
    if dialect == "oci":
        unknown = {"architecture": "unknown", "os": "unknown"}
        entries.append({**entries[0], "platform": unknown})
    whole = {"schemaVersion": 2, "mediaType": _TYPES[dialect]["index"], "manifests": entries}
    return json.dumps(whole).encode(), _TYPES[dialect]["index"]


@dataclass(frozen=True)
class Pusher:
    """Pushes to a registry at `url` (`http://127.0.0.1:5000`)."""

    url: str
    login: tuple[str, str] | None = None

    def push(self, repository: str, tag: str, *images: Made, dialect: Dialect = "oci") -> str:
        """The image, or an index of several, under the tag; returns the digest of what the tag names."""
        with httpx.Client(base_url=f"{self.url}/v2/{repository}", auth=self.login, trust_env=False) as client:
            for each in images:
                for name, body in each.blobs.items():
                    self._blob(client, name, body)
                self._manifest(client, each.digest, each.manifest, each.kind)
            if len(images) == 1:
                body, kind = images[0].manifest, images[0].kind
            else:
                body, kind = index(images, dialect)
            self._manifest(client, tag, body, kind)
        return digest(body)

    def delete(self, repository: str, digest: str) -> None:
        """Takes a manifest away."""
        with httpx.Client(auth=self.login, trust_env=False) as client:
            client.delete(f"{self.url}/v2/{repository}/manifests/{digest}").raise_for_status()

    def _blob(self, client: httpx.Client, name: str, body: bytes) -> None:
        if client.head(f"/blobs/{name}").status_code == 200:
            return
        where = client.post("/blobs/uploads/").raise_for_status().headers["location"]
        url = httpx.URL(where).copy_merge_params({"digest": name})
        client.put(url, content=body).raise_for_status()

    def _manifest(self, client: httpx.Client, name: str, body: bytes, kind: str) -> None:
        client.put(f"/manifests/{name}", content=body, headers={"Content-Type": kind}).raise_for_status()
