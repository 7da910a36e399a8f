"""The role manifest: everything about a kind of container that is data."""

from typing import Annotated, Any, Literal

from pydantic import Field

from launcher.model.recipe import FlagValue, Table

Count = Literal["workers", "prefill", "decode", "endpoints", "ranks"]
"""Symbolic counts of a gate, allowed in `count` and `equals`; the plan knows the numbers."""


class Program(Table):
    """The program the role runs, by the name its flag catalogue has."""

    name: str | None = Field(default=None, description="name of the flag catalogue")
    version: str | None = Field(default=None, description="version where recipe, lock and alias table say none")
    command: list[str] = Field(
        default_factory=list,
        description="its first words; placeholders: `{python}`, `{ip}`, `{rank}`, `{port.NAME}`, "
        "`{model}`, `{served_name}`, `{public}`",
    )
    needs: list[str] = Field(default_factory=list, description="programs that must be on PATH in the image")


class Port(Table):
    """A port of the role: `base` of the first replica on a node, then every `step`; `span` consecutive ones."""

    base: Annotated[int, Field(ge=1, le=65535)]
    step: Annotated[int, Field(ge=1, le=1000)] = 1
    span: Annotated[int, Field(ge=1, le=1000)] = 1


class ManifestExpect(Table):
    """See `run.script.Expect`; counts may be symbolic."""

    at: str = ""
    equals: Any = None
    count: Annotated[int, Field(ge=0)] | Count | None = None
    has: Any = None
    where: dict[str, Any] = Field(default_factory=dict)


class ManifestGate(Table):
    """See `run.script.Gate`; `url` takes the placeholders of a command."""

    kind: Literal["http", "tcp", "gauge", "complete"]
    url: str
    expect: list[ManifestExpect] = Field(default_factory=list)
    status: int = 200


class ManifestStop(Table):
    """How the role's process is asked to end; KILL after `seconds`."""

    signal: Literal["TERM", "INT", "QUIT", "HUP", "USR1", "USR2"] = "TERM"
    seconds: Annotated[float, Field(gt=0, le=600)] = 10.0


class Metrics(Table):
    """Where Prometheus finds the role's metrics."""

    port: str = Field(description="name of one of `[ports]`")
    path: str = "/metrics"


class Manifest(Table):
    """`manifests/NAME.toml`."""

    schema_: Literal[1] = Field(alias="schema")
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")
    about: str = Field(min_length=1, description="one line for `launch config` and the reference")
    adapter: str = Field(default="plain", description="module that turns the role into commands")
    kind: Literal["engine", "router", "service"]
    image: str | None = Field(default=None, description="image alias where the recipe names none")
    program: Program = Field(default_factory=Program)
    ports: dict[str, Port] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)
    flags: dict[str, FlagValue] = Field(default_factory=dict, description="lie under the recipe's")
    setup: str | None = None
    owned: dict[str, str] = Field(
        default_factory=dict, description="flags the launcher sets; value: what to use instead"
    )
    owned_env: dict[str, str] = Field(default_factory=dict, description="variables the launcher sets, likewise")
    after: list[str] = Field(
        default_factory=list,
        description="roles whose gates must be open before this one starts; `workers` is all of them, and what "
        "a router has where it says nothing",
    )
    gates: list[ManifestGate] = Field(default_factory=list)
    stop: ManifestStop = Field(default_factory=ManifestStop)
    metrics: Metrics | None = None
