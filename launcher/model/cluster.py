"""The cluster: where roles run, what its nodes look like, and what its names mean."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from launcher.model import timelimit
from launcher.model.recipe import Mount, Table, Wishes
from launcher.model.value import Memory, Name, Schema, SitePath, TimeLimit, kind, said
from launcher.run.record import record


class Versions(Table):
    """Versions of the site's software; they change the words that are rendered."""

    slurm: str | None = Field(default=None, description="`srun --version`: which options it knows")
    pyxis: str | None = Field(default=None, description="version of the Slurm plugin")
    enroot: str | None = Field(default=None, description="`enroot version`")
    apptainer: str | None = Field(default=None, description="`apptainer --version`")


class Node(Table):
    """Shape of one compute node."""

    gpus: Annotated[int, Field(ge=0, le=64)] = Field(default=0, description="GPUs of a node")
    gpu: str | None = Field(default=None, min_length=1, description="model of the GPUs, for messages")
    cpus: Annotated[int, Field(ge=1)] | None = Field(default=None, description="CPUs that Slurm counts on a node")
    memory: Memory | None = Field(default=None, description="memory of a node: `800G`, `512000M`")
    driver: str | None = Field(
        default=None, pattern=r"^[0-9]+(\.[0-9]+)*$", description="version of the GPU driver: `580.95`"
    )
    gpu_request: Literal["gpus-per-node", "gres", "none"] = Field(
        default="gpus-per-node", description="how the site wants GPUs asked for; `none` where nodes come with them"
    )
    local: SitePath = Field(
        default="/tmp",  # noqa: S108  (the site's own scratch is better, where it says so)
        description="folder on the node's own disk, for what containers write; `$USER` and `$HOME` are expanded",
    )


class Topology(Table):
    """`[topology]`: which nodes are near each other."""

    segment: bool = Field(default=False, description="the site takes `--segment` (topology/block, Slurm 24.05)")
    domain_nodes: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="nodes of one NVLink domain: 18 of an NVL72"
    )


class SiteSlurm(Wishes):
    """`[slurm]`: what jobs ask of Slurm here unless the recipe says otherwise, and how the site is set up."""

    exclusive: bool = Field(
        default=True, description="ask for whole nodes; else for GPUs, CPUs and memory in proportion"
    )
    mpi: str = Field(
        default="pmix", pattern=r"^[A-Za-z0-9_]+$", description="`--mpi` of steps that need one: see `srun --mpi=list`"
    )
    kill_wait: Annotated[int, Field(ge=2, le=3600)] = Field(
        default=30, description="KillWait of slurm.conf: seconds from TERM to KILL at the end of a job"
    )


class Pyxis(Table):
    """`[pyxis]`: how the site set it up."""

    squashfuse: bool = Field(default=False, description="images are mounted, not unpacked (`use_squashfuse=1`)")


class Apptainer(Table):
    """`[apptainer]`: how containers are started where `runtime` is `apptainer`."""

    gpu: Literal["nv", "nvccli", "rocm"] = Field(default="nv", description="how GPUs get in: `--nv`, …")
    home: bool = Field(default=False, description="mount the home directory")
    cache: SitePath | None = Field(default=None, description="APPTAINER_CACHEDIR, for images of registries")


class StoreJob(Table):
    """`[store.job]`: the small job, without GPUs, in which image files are made."""

    partition: str | None = Field(default=None, min_length=1, description="partition; default: that of `[slurm]`")
    qos: str | None = Field(default=None, min_length=1, description="quality of service; default: that of `[slurm]`")
    time: TimeLimit = Field(default="1h", description=f"time limit: {timelimit.FORMS}")
    cpus: Annotated[int, Field(ge=1)] = Field(default=4, description="CPUs, all of which are used")
    memory: Memory = Field(default="4G", description="memory: 300 MB are used, and what the node caches of files")


class Store(Table):
    """`[store]`: where image files of this cluster are kept."""

    path: SitePath = Field(description="folder on a file system that all nodes see; `$USER` and `$HOME` are expanded")
    group_readable: bool = Field(default=True, description="whether others may read the files that are made")
    compressor: Literal["zstd", "lz4", "gzip", "lzo", "xz"] = Field(
        default="zstd",
        description="of image files: zstd starts containers quickest; `unsquashfs` of the nodes must know it",
    )
    work: Literal["login", "slurm"] = Field(
        default="login", description="where image files are made: on this machine, or on a node in a small job"
    )
    job: StoreJob = Field(default_factory=StoreJob.model_construct, description="that job")


class Setup(Table):
    """`[setup]`: shell text run in every role's container before the role's own preamble."""

    inline: str = Field(description="the text")


ARCHITECTURES = ("x86_64", "aarch64")
"""Of compute nodes, as `uname -m` has them."""


_MEANINGS = ("reference", *ARCHITECTURES)
_BUILT = ("args",)


class Baked(Table):
    """`baked` of an image alias, written by `launch images bake`."""

    image: str = Field(min_length=1, description="image with the preamble in it; counts while the alias means this one")
    base: str = Field(min_length=1, description="image that it was made from, which roles with other preambles run in")
    setup: str = Field(pattern=r"^sha256:[0-9a-f]{64}$", description="digest of the preamble")
    env: list[str] = Field(description="variables that the preamble exported: `NAME=value`")

    @property
    def variables(self) -> dict[str, str]:
        """What the preamble exported, by name."""
        return dict(each.partition("=")[::2] for each in self.env)


class Image(Table):
    """What an image alias means. Written as a table where a reference alone does not say enough."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {
                    "not": {"properties": dict.fromkeys(_MEANINGS, False)},
                    "properties": dict.fromkeys(("build", *_BUILT), False),
                },
                {"required": ["build"], "properties": dict.fromkeys((*_MEANINGS, "where"), False)},
            ]
        }
    )

    build: Name | None = Field(
        default=None, description="name of a definition, `images/NAME/`; what `launch images build` made of it is used"
    )
    args: dict[str, str] = Field(default={}, description="build arguments, above those of the definition")
    reference: str | None = Field(
        default=None, min_length=1, description="registry reference, or path of an image file"
    )
    x86_64: str | None = Field(default=None, min_length=1, description="the reference for nodes of this architecture")
    aarch64: str | None = Field(default=None, min_length=1, description="the reference for nodes of this architecture")
    versions: dict[str, str] = Field(default={}, description="program → version inside the image")
    where: Literal["here", "compute"] = Field(
        default="here",
        description="who sees a file: `compute` where login nodes do not, so that one of the nodes is asked",
    )
    baked: Baked | None = Field(default=None, description="what a preamble was baked into")

    def key(self, arch: str | None) -> str | None:
        """The key with the reference for nodes of this architecture; None where there is none for them."""
        if arch is not None and getattr(self, arch) is not None:
            return arch
        return "reference" if self.reference is not None else None

    def meant(self, arch: str | None) -> str | None:
        """The reference for nodes of this architecture."""
        key = self.key(arch)
        found: str | None = None if key is None else getattr(self, key)
        return found

    def derived(self, arch: str | None) -> Baked | None:
        """How the reference for nodes of this architecture was baked; None where it was not."""
        return self.baked if self.baked is not None and self.baked.image == self.meant(arch) else None


def _image(value: Any) -> Any:
    value = _table(value, "reference")
    own = [key for key in (*_MEANINGS, "where") if key in value]
    if "build" in value and own:
        raise said(f"has `build` and `{own[0]}`", "what is built has its reference in `launch.lock`")
    if "build" not in value and "args" in value:
        raise said("has `args` and no `build`", "only a definition takes arguments")
    # Where a key is none of an image's, it is the one that was misspelt.
    if not {"build", *_MEANINGS} & value.keys() and Image.model_fields.keys() >= value.keys():
        raise said("must have a `reference`", f"or one for an architecture: {', '.join(ARCHITECTURES)}; or `build`")
    return value


def _table(value: Any, key: str) -> dict[str, Any]:
    """A table; of a text alone the one with that key."""
    if isinstance(value, str):
        if not value:
            raise said("must not be empty")
        return {key: value}
    if not isinstance(value, dict):
        raise said(f"must be a {key} or a table, not {kind(value)}")
    return value


@record
class _OrText:
    """What follows may also be a text: `read` makes either the table."""

    read: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.read, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Callable[[Any], Any]) -> dict[str, Any]:
        return {"anyOf": [{"type": "string", "minLength": 1}, handler(schema)]}


class SiteModel(Table):
    """What a model alias means. Written as a table where a path alone does not say enough."""

    path: str = Field(min_length=1, description="absolute path of the model's folder")
    where: Literal["here", "compute"] = Field(
        default="here",
        description="who sees it: `compute` where login nodes do not, so that one of the nodes is asked",
    )


def _model(value: Any) -> Any:
    return _table(value, "path")


class Cluster(Table):
    """`images/clusters/NAME.toml`, overlaid by name: shipped, `/etc`, user, `--cluster FILE`."""

    schema_: Schema = Field(alias="schema", description="version of this format")
    name: Name = Field(description="as the file is named")
    runtime: Literal["none", "pyxis", "apptainer"] = Field(
        default="none", description="what containers are started with; `none` starts plain processes"
    )
    scheduler: Literal["local", "slurm"] = Field(default="slurm", description="`local` is this machine alone")
    arch: Literal["x86_64", "aarch64"] | None = Field(
        default=None, description="of the compute nodes: a run on others ends before it starts"
    )
    nodes: Annotated[int, Field(ge=1)] | None = Field(default=None, description="nodes a job may have at most")
    python: str = Field(
        default="python3", min_length=1, description="Python ≥ 3.9 on the compute nodes; runs the supervisor"
    )
    runs: SitePath | None = Field(
        default=None,
        description="folder for run directories, on a file system that all nodes see; `$USER` and `$HOME` are expanded",
    )
    interface: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9_.:@-]{1,15}$",
        description="network interface whose addresses roles are told; default: the address of the node's name",
    )
    inherit: list[str] = Field(
        default=[], description="variables of the submitting shell that go along, beside PATH, HOME, USER and the like"
    )
    versions: Versions = Field(default_factory=Versions.model_construct, description="versions of the site's software")
    slurm: SiteSlurm = Field(default_factory=SiteSlurm.model_construct, description="what jobs ask of Slurm")
    topology: Topology = Field(default_factory=Topology.model_construct, description="which nodes are near each other")
    pyxis: Pyxis = Field(default_factory=Pyxis.model_construct, description="how pyxis is set up")
    apptainer: Apptainer = Field(default_factory=Apptainer.model_construct, description="how Apptainer is called")
    node: Node = Field(default_factory=Node.model_construct, description="shape of one compute node")
    env: dict[str, str] = Field(default={}, description="lies under every role's environment")
    setup: Setup | None = Field(default=None, description="preamble run before every role's own")
    mounts: list[Mount] = Field(default=[], description="mounts of every container")
    images: dict[
        str,
        Annotated[Image, _OrText(_image)],
    ] = Field(default={}, description="alias → reference, or a table")
    store: Store | None = Field(default=None, description="where image files are kept")
    plain_http: list[str] = Field(
        default=[],
        description="registries (`host:port`) that are asked without TLS; on this machine they are found out",
    )
    models: dict[str, Annotated[SiteModel, _OrText(_model)]] = Field(default={}, description="alias → path, or a table")

    def model(self, said: str) -> str:
        """The path that an alias stands for; what is none stands for itself."""
        found = self.models.get(said)
        return said if found is None else found.path
