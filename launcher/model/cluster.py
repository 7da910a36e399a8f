"""The cluster: where roles run, what its nodes look like, and what its names mean."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from launcher.model.recipe import Mount, Table
from launcher.model.value import Memory, Name, Schema, kind, said


class Versions(Table):
    """Versions of the site's software; they change the words that are rendered."""

    pyxis: str | None = Field(default=None, description="version of the Slurm plugin")
    enroot: str | None = Field(default=None, description="`enroot version`")


class Node(Table):
    """Shape of one compute node."""

    gpus: Annotated[int, Field(ge=0, le=64)] = Field(default=0, description="GPUs of a node")
    cpus: Annotated[int, Field(ge=1)] | None = Field(default=None, description="CPUs that Slurm counts on a node")
    memory: Memory | None = Field(default=None, description="memory of a node: `800G`, `512000M`")


class Setup(Table):
    """`[setup]`: shell text run in every role's container before the role's own preamble."""

    inline: str = Field(description="the text")


class Image(Table):
    """What an image alias means. Written as a table where a reference alone does not say enough."""

    reference: str = Field(min_length=1, description="registry reference, or path of an image file")
    versions: dict[str, str] = Field(default={}, description="program → version inside the image")


def _image(value: Any) -> Any:
    if isinstance(value, str):
        if not value:
            raise said("must not be empty")
        return {"reference": value}
    if not isinstance(value, dict):
        raise said(f"must be a reference or a table, not {kind(value)}")
    return value


class _OrReference:
    """In the JSON Schema, what follows may also be a text."""

    def __get_pydantic_json_schema__(self, schema: Any, handler: Callable[[Any], Any]) -> dict[str, Any]:
        return {"anyOf": [{"type": "string", "minLength": 1}, handler(schema)]}


class Cluster(Table):
    """`images/clusters/NAME.toml`, overlaid by name: shipped, `/etc`, user, `--cluster FILE`."""

    schema_: Schema = Field(alias="schema", description="version of this format")
    name: Name = Field(description="as the file is named")
    runtime: Literal["none", "pyxis"] = Field(default="none", description="`none` starts plain processes")
    scheduler: Literal["local", "slurm"] = Field(default="slurm", description="`local` is this machine alone")
    nodes: Annotated[int, Field(ge=1)] | None = Field(default=None, description="nodes a job may have at most")
    python: str = Field(
        default="python3", min_length=1, description="Python ≥ 3.9 on the compute nodes; runs the supervisor"
    )
    versions: Versions = Field(default_factory=Versions, description="versions of the site's software")
    node: Node = Field(default_factory=Node, description="shape of one compute node")
    env: dict[str, str] = Field(default={}, description="lies under every role's environment")
    setup: Setup | None = Field(default=None, description="preamble run before every role's own")
    mounts: list[Mount] = Field(default=[], description="mounts of every container")
    images: dict[
        str,
        Annotated[
            Image,
            BeforeValidator(_image),
            _OrReference(),
        ],
    ] = Field(default={}, description="alias → reference, or a table")
    models: dict[str, Annotated[str, Field(min_length=1)]] = Field(default={}, description="alias → path")
