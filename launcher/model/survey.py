"""What a site told of itself when it was asked: Slurm on the login node, and one compute node."""

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from launcher.run.record import record

_GPU = re.compile(r"(?:^|,)gpu(?::([A-Za-z][^:(,]*))?(?::(\d+))?(?=[(,]|$)")


@record
class Shape:
    """Nodes of one kind in a partition, as Slurm counts them; `memory` is in MiB."""

    partition: str
    default: bool
    nodes: int
    cpus: int
    memory: int
    gres: str


@record
class Credentials:
    """A file with credentials for registries: for which hosts, and whether others may read it."""

    file: str
    hosts: tuple[str, ...]
    exposed: bool


@record
class Told:
    """What one compute node told. `python` is the version of the configured one, empty where it cannot be run;
    `pythons` are others (path → version). `interfaces` has the IPv4 address of each, perhaps empty. `programs` has
    what those that are there said of their version. `missing` are paths that are not there, `closed` the keys of
    folders that cannot be written to, and `shared` tells of keys of folders whether they are the same as here.
    `plugstack` has the lines of pyxis in plugstack.conf, `compressors` those of image files that can be unpacked, and
    `kernel` those that can be mounted.
    """

    node: str
    arch: str
    python: str = ""
    pythons: Mapping[str, str] = field(default_factory=dict)
    interfaces: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    plugstack: tuple[str, ...] = ()
    credentials: tuple[Credentials, ...] = ()
    namespaces: bool = True
    shared: Mapping[str, bool] = field(default_factory=dict)
    compressors: tuple[str, ...] = ()
    kernel: tuple[str, ...] = ()


@record
class Survey:
    """All of it. `slurm` is the version, empty on a machine without; `settings` are those of slurm.conf. `told` is None
    where no compute node could be asked, and `silence` says why. `images` are image files that are seen here, with
    what they are compressed by.
    """

    slurm: str = ""
    options: tuple[str, ...] = ()
    mpis: tuple[str, ...] = ()
    shapes: tuple[Shape, ...] = ()
    accounts: tuple[str, ...] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    told: Told | None = None
    silence: str = ""
    images: Mapping[str, str] = field(default_factory=dict)


def told(answer: Mapping[str, Any]) -> Told:
    """What `execute.inside.node` printed, as a value. Raises KeyError, TypeError for anything else."""
    own = [Credentials(each["file"], tuple(each["hosts"]), bool(each["exposed"])) for each in answer["credentials"]]
    return Told(
        node=str(answer["node"]),
        arch=str(answer["arch"]),
        python=str(answer["python"]),
        pythons=dict(answer["pythons"]),
        interfaces=dict(answer["interfaces"]),
        programs=dict(answer["programs"]),
        missing=tuple(answer["missing"]),
        closed=tuple(answer["closed"]),
        plugstack=tuple(answer["plugstack"]),
        credentials=tuple(own),
        namespaces=bool(answer["namespaces"]),
        shared=dict(answer["shared"]),
        compressors=tuple(map(str, answer["compressors"])),
        kernel=tuple(map(str, answer["kernel"])),
    )


def gpus(gres: str) -> int:
    """How many GPUs a node with this gres has: `gpu:8`, `gpu:gb300:4(S:0-1)`; of several kinds the most."""
    return max([int(count or 1) for _, count in _GPU.findall(gres)], default=0)


def gpu(gres: str) -> str:
    """What Slurm calls the GPUs, empty where it has no name for them or several."""
    names = {name for name, _ in _GPU.findall(gres)}
    return names.pop() if len(names) == 1 else ""
