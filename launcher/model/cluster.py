"""The cluster: where roles run, what its nodes look like, and what its names mean."""

from typing import Annotated, Literal

from pydantic import Field

from launcher.model.recipe import Mount, Table


class Versions(Table):
    """Versions of the site's software; they change the words that are rendered."""

    slurm: str | None = None
    pyxis: str | None = None
    enroot: str | None = None
    apptainer: str | None = None


class Node(Table):
    """Shape of one compute node."""

    gpus: Annotated[int, Field(ge=0, le=64)] = 0
    gpu: str | None = Field(default=None, description="model of the GPUs, for people")
    cpus: Annotated[int, Field(ge=1)] | None = None
    memory: str | None = Field(default=None, description="`800G`, `512000M`")


class Setup(Table):
    """`[setup]`: shell text run in every role's container before the role's own preamble."""

    inline: str


class Image(Table):
    """An image alias written as a table, where a reference alone does not say enough."""

    reference: str
    versions: dict[str, str] = Field(default_factory=dict, description="program → version inside the image")


class Cluster(Table):
    """`images/clusters/NAME.toml`, overlaid by name: shipped, /etc, user, `--cluster FILE`."""

    schema_: Literal[1] = Field(alias="schema")
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")
    runtime: Literal["none", "pyxis"] = Field(default="none", description="`none` starts plain processes")
    scheduler: Literal["local", "slurm"] = "slurm"
    arch: Literal["x86_64", "aarch64"] | None = None
    nodes: Annotated[int, Field(ge=1)] | None = Field(default=None, description="nodes at most")
    python: str = Field(default="python3", description="Python ≥ 3.9 on the compute nodes; runs the supervisor")
    versions: Versions = Field(default_factory=Versions)
    node: Node = Field(default_factory=Node)
    env: dict[str, str] = Field(default_factory=dict, description="lies under every role's environment")
    setup: Setup | None = Field(default=None, description="preamble run before every role's own")
    mounts: list[Mount] = Field(default_factory=list)
    images: dict[str, str | Image] = Field(default_factory=dict, description="alias → reference")
    models: dict[str, str] = Field(default_factory=dict, description="alias → path")
