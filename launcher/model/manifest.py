"""The role manifest: everything about a kind of container that is data."""

from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from launcher.model.recipe import Table
from launcher.model.value import Flags, PortName, RoleName, Schema, Tested, kind, said

Count = Literal["workers", "prefill", "decode", "endpoints", "ranks"]
"""Symbolic counts of a gate, allowed in `count` and `equals`; the plan knows the numbers."""


def _count(value: Any) -> int | Count:
    if value in get_args(Count) and isinstance(value, str):
        symbol: Count = value  # type: ignore[assignment]
        return symbol
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    shown = f"`{value}`" if isinstance(value, (str, int)) else kind(value)
    raise said(f"must be a number from 0, or one of {', '.join(f'`{name}`' for name in get_args(Count))}, not {shown}")


class Program(Table):
    """The program the role runs, by the name its flag catalogue has."""

    name: str | None = Field(default=None, description="name of the flag catalogue")
    version: str | None = Field(default=None, description="version where recipe, lock and alias table say none")
    distribution: str | None = Field(
        default=None,
        min_length=1,
        description="Python distribution whose version is the program's, where it is neither its name nor the first of "
        "`packages`",
    )
    command: list[str] = Field(
        default=[],
        description="its first words; placeholders: `{python}`, `{ip}`, `{rank}`, `{port.NAME}`, "
        "`{model}`, `{served_name}`, `{public}`",
    )
    needs: list[str] = Field(default=[], description="programs that must be on PATH in the image")
    modules: dict[str, dict[str, str]] = Field(
        default={},
        description="Python modules that the command's interpreter must have: a flag, or `kv_events`, that takes them "
        "→ module → what pip calls it",
    )
    packages: list[str] = Field(
        default=[],
        description="what pip installs, into an environment of its own, where there is no image; `{version}` is that "
        "of the role's program",
    )


class Port(Table):
    """A port of the role: `base` of the first replica on a node, then every `step`; `span` consecutive ones."""

    base: Annotated[int, Field(ge=1, le=65535)] = Field(description="port of the first replica on a node")
    step: Annotated[int, Field(ge=1, le=1000)] = Field(default=1, description="from one replica to the next")
    span: Annotated[int, Field(ge=1, le=1000)] = Field(default=1, description="consecutive ports of each replica")
    everywhere: bool = Field(default=False, description="whether it is bound on every address of its node")


class ManifestExpect(Table):
    """What a gate wants to see in an answer; counts may be symbolic."""

    at: str = Field(default="", description="dotted path into a JSON body, or a metric's name; empty: the whole")
    equals: Any = Field(default=None, description="the value must equal this")
    count: Annotated[
        int | Count | None,
        Tested(_count, {"anyOf": [{"type": "integer", "minimum": 0}, {"enum": list(get_args(Count))}]}, raw=True),
    ] = Field(default=None, description="so many items: a number, or how many roles of a mode there are")
    has: Any = Field(default=None, description="some item must equal this")
    where: dict[str, Any] = Field(default={}, description="only items with these fields are looked at")


class ManifestGate(Table):
    """A condition that is asked until it holds."""

    kind: Literal["http", "tcp", "gauge", "complete"] = Field(
        description="`http` GET, `tcp` connect, `gauge` Prometheus text, `complete` one completion"
    )
    url: str = Field(min_length=1, description="what is asked; takes the placeholders of a command")
    expect: list[ManifestExpect] = Field(default=[], description="all of these must hold")
    status: Annotated[int, Field(ge=100, le=599)] = Field(default=200, description="HTTP status that is wanted")


class ManifestStop(Table):
    """How the role's process is asked to end; KILL after `seconds`."""

    signal: Literal["TERM", "INT", "QUIT", "HUP", "USR1", "USR2"] = Field(default="TERM", description="signal")
    seconds: Annotated[float, Field(gt=0, le=600)] = Field(default=10.0, description="until KILL")


class Metrics(Table):
    """Where Prometheus finds the role's metrics."""

    port: str = Field(description="name of one of `[ports]`")
    path: str = Field(default="/metrics", pattern="^/", description="path of the metrics page")


class Implied(Table):
    """A role that a router brings along; `[roles.ROLE]` of a recipe changes it."""

    role: RoleName = Field(description="name of the role")
    manifest: str = Field(min_length=1, description="name of its role manifest")
    on: str | None = Field(default=None, min_length=1, description="placement where the recipe says none")
    beside: RoleName | None = Field(
        default=None, description="role of which each endpoint has one replica of this, on its node"
    )
    when: Literal["always", "aggregate", "disaggregated"] = Field(
        default="always", description="for which deployments: `disaggregated` is `prefill` and `decode`"
    )
    front: bool = Field(default=False, description="whether it owns the public port")


class Difference(Table):
    """What a version of the program does otherwise than those before it; `launch flags diff` tells it."""

    since: str = Field(pattern=r"^[0-9][0-9A-Za-z.]*$", description="first version that does so")
    about: str = Field(min_length=1, description="what it does, in a phrase")
    source: str = Field(min_length=1, description="where that was seen or is said")
    flags: list[str] = Field(default=[], description="flags that it is about")


class Manifest(Table):
    """`manifests/NAME.toml`."""

    schema_: Schema = Field(alias="schema", description="version of this format")
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", description="as the file is named")
    about: str = Field(min_length=1, description="one line for `launch config` and the reference")
    adapter: str = Field(default="plain", description="module that turns the role into commands")
    kind: Literal["engine", "router", "service", "benchmark"] = Field(
        description="`engine` serves a model, `router` stands in front, `benchmark` runs to its end once all is ready, "
        "`service` is anything else"
    )
    image: str | None = Field(default=None, min_length=1, description="image alias where the recipe names none")
    program: Program = Field(default_factory=Program.model_construct, description="what runs")
    ports: dict[PortName, Port] = Field(default={}, description="ports of one replica")
    env: dict[str, str] = Field(default={}, description="lies under the recipe's")
    flags: Flags = Field(default={}, description="lie under the recipe's")
    config_keys: list[str] = Field(default=[], description="keys that the engine's own YAML is known to have")
    config_tables: dict[str, list[str]] = Field(
        default={}, description="keys that a table in it is known to have, by the table's dotted name"
    )
    config_flags: bool = Field(default=False, description="whether the keys of the engine's own YAML are its flags")
    urls: Literal["replica", "node"] = Field(
        default="replica",
        description="of a router: whether a data-parallel replica on several nodes shows it one URL, or one a node",
    )
    implies: list[Implied] = Field(
        default=[],
        description="of a router: the roles it brings along. What `[router]` says of image, preamble, environment and "
        "mounts lies under theirs",
    )
    setup: str | None = Field(default=None, description="preamble where the recipe has none")
    owned: dict[str, str] = Field(default={}, description="flags the launcher sets; value: what to use instead")
    owned_env: dict[str, str] = Field(default={}, description="variables the launcher sets, likewise")
    listens: list[str] = Field(
        default=[], description="flags that are for users to set, and name a port that the program then listens on"
    )
    listens_env: list[str] = Field(default=[], description="variables that are so")
    gates: list[ManifestGate] = Field(default=[], description="all must be open before the role counts as up")
    after: list[str] = Field(
        default=[],
        description="roles whose gates must be open before this one starts; `workers` is all of them, and what "
        "a router has where it says nothing",
    )
    stop: ManifestStop = Field(default_factory=ManifestStop.model_construct, description="how it is asked to end")
    differences: list[Difference] = Field(default=[], description="what versions of the program do differently")
    metrics: Metrics | None = Field(default=None, description="where Prometheus finds its metrics")
