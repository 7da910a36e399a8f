"""The recipe: one deployment. Every key is accepted only because something reads it."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from launcher.model import timelimit
from launcher.model.value import (
    Configuration,
    Duration,
    Flags,
    FlagValue,
    ModelName,
    Name,
    RoleName,
    Schema,
    Segment,
    TimeLimit,
)

__all__ = [
    "NO_ROUTER",
    "BenchmarkTable",
    "CommonTable",
    "FlagValue",
    "Model",
    "Mount",
    "Ports",
    "Ready",
    "Recipe",
    "RecipeFile",
    "RecipePart",
    "RoleTable",
    "RouterTable",
    "SlurmTable",
    "Table",
    "Wishes",
]

NO_ROUTER = "direct"
"""Role manifest of the router of a recipe that has no `[router]`."""


class Table(BaseModel):
    """Base of everything read from a file: unknown keys are errors, nothing is coerced."""

    # An empty container as a default is copied by pydantic; `default_factory=dict` costs 10 ms at the first use.
    # Calling a model builds its validator, 0.2 to 1 ms each; `model_construct`, for tables of defaults, does not.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class Mount(Table):
    """A directory or file of the host, seen in the container."""

    source: str = Field(min_length=1, description="path on the host")
    target: str = Field(min_length=1, description="absolute path in the container")
    read_only: bool = Field(default=False, description="mount it read-only")


class CommonTable(Table):
    """What every role may say: in `[defaults]`, `[roles.NAME]` and `[router]`."""

    image: str | None = Field(default=None, min_length=1, description="image alias of the cluster")
    version: str | None = Field(
        default=None, min_length=1, description="version of the role's program in that image, where the alias says none"
    )
    setup: str | None = Field(default=None, description="shell text run in the container before the command")
    setup_file: str | None = Field(
        default=None, min_length=1, description="file with that text, relative to this file; takes the place of `setup`"
    )
    env: dict[str, str] = Field(default={}, description="environment of the container; values are strings")
    env_from: list[str] = Field(default=[], description="names taken from the submitting shell (secrets)")
    flags: Flags = Field(
        default={}, description="flags of the role's program, without dashes in front; `true` is a flag without a value"
    )
    mounts: list[Mount] = Field(default=[], description="mounts of the container, beside those of the cluster")
    on: str | None = Field(
        default=None, min_length=1, description="placement: `head`, `dedicated`, or the name of a role"
    )


class RoleTable(CommonTable):
    """`[defaults]` and `[roles.NAME]`."""

    manifest: str | None = Field(default=None, description="name of the role manifest")
    gpus: Annotated[int, Field(ge=0, le=65536)] | None = Field(default=None, description="GPUs of one replica")
    replicas: Annotated[int, Field(ge=1, le=10000)] | None = Field(default=None, description="how many of this role")
    kv: Literal["nixl", "mooncake"] | None = Field(
        default=None, description="what hands the KV cache from prefill to decode: the launcher sets the engine's flags"
    )
    config: Configuration | None = Field(
        default=None,
        description="the engine's own YAML: a table, or a file relative to this file. Its keys are flags for vLLM and "
        "SGLang; for TensorRT-LLM `unset` lists those that are to be nothing",
    )
    kv_events: bool | None = Field(
        default=None, description="whether the engine publishes what its KV cache holds: the launcher sets its flags"
    )


class RouterTable(CommonTable):
    """`[router]`: what stands in front of the workers."""

    kind: str | None = Field(default=None, description="name of the router's role manifest")
    epp_config: Configuration | None = Field(
        default=None,
        description="llm-d's `EndpointPickerConfig` without discovery: a table, or a YAML file relative to this file",
    )


class BenchmarkTable(CommonTable):
    """`[benchmark]`: what runs against the public URL once the run is ready; its end ends the run."""

    manifest: str | None = Field(default=None, description="name of the role manifest, of kind `benchmark`")


class Model(Table):
    """`[model]`: what is served."""

    path: ModelName | None = Field(default=None, description="alias in the cluster's `[models]`, or an absolute path")
    served_name: ModelName | None = Field(
        default=None, description="model name in requests; default `path` as written, else `model`"
    )


class Ready(Table):
    """`[ready]`: when the run counts as up."""

    timeout: Duration = Field(
        default="10m", description="budget until everything is up: `90s`, `45m`, `1h30m`, `01:30:00` or seconds"
    )


class Ports(Table):
    """`[ports]`: where ports are allocated."""

    public: Annotated[int, Field(ge=1, le=65535)] | None = Field(
        default=None, description="port of the public URL; default 8000 + `shift`"
    )
    shift: Annotated[int, Field(ge=0, le=50000)] = Field(default=0, description="added to every port base")


class Wishes(Table):
    """What a job may ask of Slurm; the recipe's lie over the cluster's."""

    partition: str | None = Field(default=None, min_length=1, description="partition; default: Slurm's")
    account: str | None = Field(default=None, min_length=1, description="account that is charged")
    qos: str | None = Field(default=None, min_length=1, description="quality of service")
    time: TimeLimit | None = Field(default=None, description=f"time limit: {timelimit.FORMS}; default: the partition's")
    sbatch: Flags = Field(default={}, description="more options of `sbatch`, by their long names without dashes")
    srun: Flags = Field(default={}, description="more options of every step's `srun`, likewise")


class SlurmTable(Wishes):
    """`[slurm]`: what the deployment asks of Slurm; nothing on a cluster without it."""

    segment: Segment | None = Field(
        default=None,
        description='nodes that must be in one NVLink domain: a number, `"role"` (each role\'s), `"job"` (all)',
    )


class RecipePart(Table):
    """What a recipe may say, none of it required: `[variants.NAME]` and `[on.CLUSTER]` are parts."""

    name: Name | None = Field(default=None, description="name of the run and the job")
    allow: list[str] = Field(default=[], description="codes of findings that may not refuse")
    model: Model = Field(default_factory=Model.model_construct, description="what is served")
    defaults: RoleTable = Field(default_factory=RoleTable.model_construct, description="lies under every worker role")
    roles: dict[RoleName, RoleTable] = Field(
        default={}, description="`worker`, or `prefill` and `decode`; services by a name of their own"
    )
    router: RouterTable | None = Field(default=None, description="what stands in front; default: one worker is public")
    benchmark: BenchmarkTable | None = Field(
        default=None, description="what runs once the deployment is ready; its end ends the run"
    )
    ready: Ready = Field(default_factory=Ready.model_construct, description="when the run counts as up")
    ports: Ports = Field(default_factory=Ports.model_construct, description="where ports are allocated")
    slurm: SlurmTable = Field(
        default_factory=SlurmTable.model_construct, description="what the deployment asks of Slurm"
    )


class RecipeFile(RecipePart):
    """A recipe as it is written: `launch up FILE`, or `FILE:VARIANT`."""

    schema_: Schema = Field(alias="schema", description="version of this format")
    extends: str | None = Field(
        default=None,
        min_length=1,
        description="recipe under this one: a file relative to this one, or a shipped name",
    )
    variants: dict[Name, RecipePart] = Field(default={}, description="changes chosen by `FILE:VARIANT`")
    on: dict[Name, RecipePart] = Field(default={}, description="changes for one cluster, by its name")


class Recipe(RecipePart):
    """A deployment after `extends`, `[on.CLUSTER]`, variants and `--set` are merged in."""

    schema_: Schema = Field(alias="schema", description="version of this format")
    name: Name = Field(description="name of the run and the job")
