"""The job: recipe, cluster and role manifests linked into what is to run, each key with its origins."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from launcher.model.catalogue import Catalogue
from launcher.model.cluster import Baked, Cluster
from launcher.model.kin import Kin
from launcher.model.lock import LockedImage
from launcher.model.manifest import Manifest
from launcher.model.recipe import FlagValue, Mount, Recipe
from launcher.run.record import record
from launcher.text.diagnostic import Diagnostic, Place
from launcher.text.document import Document, KeyPath

Mode = Literal["aggregate", "prefill", "decode"]

WORKERS: Mapping[str, Mode] = {"worker": "aggregate", "prefill": "prefill", "decode": "decode"}
"""Role names that make a role a worker, and the mode they set."""

ROUTER = "router"
"""Reserved role name: the role made from `[router]`."""

BENCHMARK = "benchmark"
"""Reserved role name: the role made from `[benchmark]`."""


def table(role: str) -> KeyPath:
    """The table of the recipe that a role is made from."""
    return (role,) if role in (ROUTER, BENCHMARK) else ("roles", role)


@record
class Origin:
    """One place that set a key: `path` in `document`; `layer` is what people call it (`[defaults]`, `--set`)."""

    document: Document
    path: KeyPath
    layer: str


@record
class Origins:
    """Key path → every place that set it, lowest first; the last one won."""

    chains: Mapping[KeyPath, tuple[Origin, ...]]
    fallback: Document

    def place(self, path: KeyPath, part: Literal["key", "value"] = "value") -> Place:
        """The winning place of `path`, else of its nearest parent that was written somewhere."""
        for length in range(len(path), -1, -1):
            chain = self.chains.get(path[:length])
            if chain:
                winner = chain[-1]
                exact = length == len(path)
                return Place(winner.document, winner.path, part if exact else "key")
        return Place(self.fallback, ())


@record
class Role:
    """A role with everything merged: cluster < role manifest < `[defaults]` (workers) < the role's table.

    `mode` is None for what is no worker. `image` is the alias, `reference` what the cluster says it means.
    `version` is that of the program: as the recipe says, else the image alias or the image's tag, else the role
    manifest; `catalogue` is of another version where there is none of that. `kin` is known where a flag is not in
    the catalogue. `locked` is what `launch.lock` has of the image. `mounts` are the cluster's, then the role's own.
    `origins` has paths relative to the role (`("flags", "policy")`). Each endpoint of the role `beside` has a
    replica of this one. `preamble` is the text of the role's own, before which the cluster's runs; `setup` is the
    same where it is to be run, and None where the image was `baked` with just that.
    """

    name: str
    mode: Mode | None
    manifest: Manifest
    origins: Origins
    image: str | None = None
    reference: str | None = None
    version: str | None = None
    preamble: str | None = None
    setup: str | None = None
    baked: Baked | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    env_from: tuple[str, ...] = ()
    flags: Mapping[str, FlagValue] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    on: str | None = None
    gpus: int = 0
    replicas: int = 1
    config: Mapping[str, Any] = field(default_factory=dict)
    kv: str | None = None
    kv_events: bool = False
    catalogue: Catalogue | None = None
    kin: Kin | None = None
    beside: str | None = None
    epp_config: Mapping[str, Any] | None = None
    manifest_document: Document | None = None
    locked: LockedImage | None = None

    def place(self, *path: str | int, part: Literal["key", "value"] = "value") -> Place:
        """Where a key of this role was written."""
        return self.origins.place(path, part)


@record
class Job:
    """What `link` makes and `check` and `plan` read. `roles` has workers in recipe order, then others, then the
    router (`direct` where the recipe has none), and last the benchmark where there is one. `manifests` names all
    role manifests there are; `findings` are warnings of linking, which `check` returns with its own. `options` has
    the catalogues of Slurm's programs for which recipe or cluster have options of their own. Of a `rehearsed` job no
    model is read. By `option` a command means the cluster, by `lock_option` the project's lock.
    """

    recipe: Recipe
    document: Document
    cluster: Cluster
    cluster_document: Document
    roles: tuple[Role, ...]
    origins: Origins
    cluster_origins: Origins
    manifests: tuple[str, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
    options: Mapping[str, tuple[Catalogue, ...]] = field(default_factory=dict)
    rehearsed: bool = False
    option: str = ""
    lock_option: str = ""

    @property
    def workers(self) -> tuple[Role, ...]:
        """Roles that serve a model."""
        return tuple(role for role in self.roles if role.mode is not None)

    @property
    def router(self) -> Role:
        """The role in front of the workers."""
        return next(role for role in self.roles if role.name == ROUTER)

    @property
    def served_name(self) -> str:
        """The model's name in requests: as the recipe says, else `model.path` as written, else `model`."""
        return self.recipe.model.served_name or self.recipe.model.path or "model"
