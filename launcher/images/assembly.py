"""Documents of an image that is another with one more layer on top: the same bytes from the same parts, always."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from launcher.images import oci
from launcher.run.record import record

THEN = "1970-01-01T00:00:00Z"
"""When such an image was made: a time of its own would make it another each time."""

_DOCKER = "application/vnd.docker.distribution.manifest.v2+json"
_TYPES = {
    True: ("application/vnd.docker.container.image.v1+json", "application/vnd.docker.image.rootfs.diff.tar.gzip"),
    False: ("application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar+gzip"),
}


@record
class Addition:
    """A layer: `digest` and `size` as it is stored (gzip), `diff` of the archive itself; `said` is how it was made."""

    digest: str
    size: int
    diff: str
    said: Sequence[str]


def upon(base: tuple[bytes, bytes], layer: Addition, labels: Mapping[str, str]) -> tuple[bytes, bytes]:
    """Manifest and configuration of `base` with the layer on top, in the dialect that `base` has."""
    manifest, config = (json.loads(part) for part in base)
    own = config.get("config") or {}
    own["Labels"] = {**(own.get("Labels") or {}), **labels}
    # Builders count on a line of history for each layer.
    past = config.get("history") or [{"created": THEN} for _ in config["rootfs"]["diff_ids"]]
    history = [*past, {"created": THEN, "created_by": "; ".join(layer.said)}]
    whole = {
        **{
            key: value
            for key, value in config.items()
            if key not in ("container", "container_config", "docker_version")
        },
        "created": THEN,
        "config": own,
        "rootfs": {"type": "layers", "diff_ids": [*config["rootfs"]["diff_ids"], layer.diff]},
        "history": history,
    }
    text = encoded(whole)
    docker = manifest.get("mediaType") == _DOCKER
    kinds = _TYPES[docker]
    made = {
        "schemaVersion": 2,
        "mediaType": _DOCKER if docker else oci.MANIFESTS[0],
        "config": {"mediaType": kinds[0], "digest": oci.digest(text), "size": len(text)},
        "layers": [*manifest["layers"], {"mediaType": kinds[1], "digest": layer.digest, "size": layer.size}],
    }
    return encoded(made), text


def whole(config: bytes, layers: Sequence[oci.Layer]) -> bytes:
    """The manifest of an image with these layers."""
    kinds = _TYPES[False]
    made = {
        "schemaVersion": 2,
        "mediaType": oci.MANIFESTS[0],
        "config": {"mediaType": kinds[0], "digest": oci.digest(config), "size": len(config)},
        "layers": [{"mediaType": _layer(kinds[1], each), "digest": each.digest, "size": each.size} for each in layers],
    }
    return encoded(made)


def index(images: Sequence[tuple[bytes, str]]) -> bytes:
    """The index of the manifests of several architectures, as `uname -m` has them."""
    dockers = all(json.loads(manifest).get("mediaType") == _DOCKER for manifest, _ in images)
    entries = [
        {
            "mediaType": json.loads(manifest).get("mediaType", oci.MANIFESTS[0]),
            "digest": oci.digest(manifest),
            "size": len(manifest),
            "platform": {"architecture": oci.goarch(arch), "os": "linux"},
        }
        for manifest, arch in images
    ]
    return encoded({"schemaVersion": 2, "mediaType": oci.INDEXES[dockers], "manifests": entries})


def encoded(value: Any) -> bytes:
    """JSON, the same for the same value."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False).encode()


def _layer(kind: str, layer: oci.Layer) -> str:
    """The type of a layer that is stored as it says; `kind` is that of one in gzip."""
    suffix = "" if layer.compression == "none" else f"+{layer.compression}"
    return f"{kind.removesuffix('+gzip')}{suffix}"
