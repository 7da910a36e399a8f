"""The recipe: one deployment. Every key is accepted only because something reads it."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

FlagValue = bool | int | float | str | list[Any] | dict[str, Any]
"""A TOML value; the flag catalogue of the program says which kinds its flags take."""


class Table(BaseModel):
    """Base of everything read from a file: unknown keys are errors, nothing is coerced."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class Mount(Table):
    """A directory or file of the host, seen in the container."""

    source: str = Field(min_length=1, description="path on the host")
    target: str = Field(min_length=1, description="absolute path in the container")
    read_only: bool = Field(default=False, description="mount it read-only")


class CommonTable(Table):
    """What every role may say: in `[defaults]`, `[roles.NAME]` and `[router]`."""

    image: str | None = Field(default=None, description="image alias of the cluster")
    version: str | None = Field(default=None, description="version of the role's program in that image")
    setup: str | None = Field(default=None, description="shell text run in the container before the command")
    setup_file: str | None = Field(default=None, description="file with that text, relative to this file")
    env: dict[str, str] = Field(default_factory=dict, description="environment of the container")
    env_from: list[str] = Field(default_factory=list, description="names taken from the submitting shell (secrets)")
    flags: dict[str, FlagValue] = Field(default_factory=dict, description="flags of the role's program")
    mounts: list[Mount] = Field(default_factory=list, description="mounts of the container")
    on: str | None = Field(default=None, description="placement: `head`, `dedicated`, or the name of a role")
    gpus: Annotated[int, Field(ge=0, le=65536)] | None = Field(default=None, description="GPUs of one replica")
    replicas: Annotated[int, Field(ge=1, le=10000)] | None = Field(default=None, description="how many of this role")


class RoleTable(CommonTable):
    """`[defaults]` and `[roles.NAME]`."""

    manifest: str | None = Field(default=None, description="name of the role manifest")


class RouterTable(CommonTable):
    """`[router]`: `kind` names the router's role manifest."""

    kind: str = Field(description="name of the router's role manifest")


class Model(Table):
    """`[model]`: what is served."""

    path: str | None = Field(default=None, description="alias in the cluster's `[models]`, or an absolute path")
    served_name: str | None = Field(default=None, description="model name in requests; default the alias")


class Ready(Table):
    """`[ready]`: when the run counts as up."""

    timeout: str | int = Field(
        default="10m", description="budget until ready: `90s`, `45m`, `1h30m`, `01:30:00` or seconds"
    )


class Ports(Table):
    """`[ports]`: where ports are allocated."""

    public: Annotated[int, Field(ge=1, le=65535)] | None = Field(
        default=None, description="port of the public URL; default 8000 + `shift`"
    )
    shift: Annotated[int, Field(ge=0, le=50000)] = Field(default=0, description="added to every port base")


class Recipe(Table):
    """A deployment after `extends`, `[on.CLUSTER]`, variants and `--set` are merged in."""

    schema_: Literal[1] = Field(alias="schema", description="version of this format")
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$", description="name of the run and the job")
    allow: list[str] = Field(default_factory=list, description="codes of findings that may not refuse")
    model: Model = Field(default_factory=Model)
    defaults: RoleTable = Field(default_factory=RoleTable, description="lies under every worker role")
    roles: dict[str, RoleTable] = Field(
        default_factory=dict, description="`worker`, or `prefill` and `decode`; others by name"
    )
    router: RouterTable | None = Field(default=None)
    ready: Ready = Field(default_factory=Ready)
    ports: Ports = Field(default_factory=Ports)
