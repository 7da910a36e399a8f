"""What engines have in common: a model to serve, GPUs that are all used, and a hand-off that one place sets up."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from launcher.model.flag import Flag, text
from launcher.model.given import Given
from launcher.model.job import Job, Role
from launcher.roles.base import Adapter, Endpoint, whole
from launcher.run.script import File, ref
from launcher.text.diagnostic import Diagnostic, Label

HTTP = "http"

CODES: Mapping[str, str] = {
    "model-missing": """An engine is told no model

`[model] path` names what is served: an alias in the cluster's `[models]`, or an absolute path.""",
    "gpus-not-used": """The engine's ranks are not as many as the replica's GPUs

What tensor, pipeline, context and data parallelism come to is how many GPUs one replica takes, expert parallelism
none beside them. With more GPUs than `gpus` the engine ends after the nodes were waited for; with fewer the rest
would be held and idle. `gpus` is that of one replica, over all of its nodes.

    [roles.worker]
    gpus = 8
    flags = { tensor-parallel-size = 4, data-parallel-size = 2 }""",
    "ranks-split": """A rank of the engine would lie across nodes

A data-parallel rank is on one node, together with others that fill it, or takes whole nodes of its own. Nodes have
`node.gpus` GPUs, as the cluster file says.""",
    "connector-twice": """The KV connector is set up twice

`kv` sets the engine's own flags for it, and its ports and addresses. Say `kv` for the usual, or give the flags
alone: a connector that hands over by NIXL gets its ports and addresses all the same.""",
    "events-twice": """KV events are set up twice

`kv_events` sets the engine's own flag for them, with a port and a topic that a router knows the worker by.""",
}
"""Code → page of findings that engines share."""


class Engine(Adapter):
    """An engine of its own arithmetic: `sizes` are the flags whose values multiply to the GPUs of a replica."""

    codes: ClassVar[Mapping[str, str]] = CODES
    sizes: ClassVar[tuple[str, ...]] = ()

    def given(self, role: Role) -> Given:
        """What the role gives the engine."""
        return Given(role)

    def gpus(self, given: Given) -> int:
        """GPUs that one replica takes."""
        count = 1
        for name in self.sizes:
            count *= given.number(name)
        return count

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        if job.recipe.model.path is None:
            yield Diagnostic(
                "model-missing",
                f"role `{role.name}` serves a model, and nobody says which",
                job.origins.place(("model",), "key") if ("model",) in job.origins.chains else role.place("manifest"),
                help='add `[model] path = "…"`: an alias of the cluster, or an absolute path',
            )
        yield from self.arithmetic(job, role)

    def arithmetic(self, job: Job, role: Role) -> Iterator[Diagnostic]:
        """Findings of sizes that do not come to the replica's GPUs."""
        given = self.given(role)
        named = [name for name in self.sizes if given.key(name) is not None]
        if any(type(given.value(name)) is not int for name in named):
            return  # no number is a finding already, and what it would come to nobody knows
        said = {given.key(name) or name: (given.number(name), given.at(name)) for name in named}
        yield from ranks_not_gpus(job, role, said, self.sizes, self.gpus(given))


def file_path(role: Role) -> str:
    """Where the engine's own file is in the run directory."""
    return f"config/{role.name}.yaml"


def configured(role: Role) -> tuple[str, ...]:
    """The words that name the engine's own file, where its keys are flags; vLLM and SGLang want two of them."""
    return ("--config", f"{ref('run')}/{file_path(role)}") if role.config else ()


def file(role: Role) -> Iterator[File]:
    """The engine's own file where its keys are flags, each by its whole name."""
    if role.config:
        yield File(file_path(role), data=dict(_entries(role)))


def _entries(role: Role) -> Iterator[tuple[str, Any]]:
    for key, value in role.config.items():
        flag = role.catalogue.find(key) if role.catalogue else None
        whole = flag is None or f"--{key}" in flag.spellings
        yield key if flag is None or whole else flag.key, value if flag is None else _entry(flag, value)


def _entry(flag: Flag, value: Any) -> Any:
    """The value as the file has it: JSON as text, as not every version makes it of a table."""
    if flag.within:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list) and flag.joined is not None:
        return flag.joined.join(text(flag, item) for item in value)
    if isinstance(value, list) and flag.arity not in (None, "?"):
        return [text(flag, item) if isinstance(item, (dict, list, bool)) else item for item in value]
    return text(flag, value) if isinstance(value, (dict, list)) else value


Sizes = Mapping[str, tuple[int, tuple[str | int, ...]]]
"""Sizes that are given, by the key they are given by: the number, and where it stands in the role."""


def ranks_not_gpus(
    job: Job, role: Role, said: Sizes, sizes: Iterable[str], wanted: int | None = None
) -> Iterator[Diagnostic]:
    """A finding where the engine takes another number of GPUs (`wanted`: the product) than the replica has."""
    named = {name: each for name, each in said.items() if wanted is not None or name in sizes}
    if wanted is None:
        wanted = math.prod(size for size, _ in named.values())
    node = job.cluster.node.gpus
    # GPUs that no replica can have are a finding already, and sizes may be meant for what they should be.
    if wanted == role.gpus or not (role.gpus or node) or not whole(role.gpus, node):
        return
    shown = " × ".join(f"`{name}` {size}" for name, (size, _) in named.items())
    takes = f"take{'s' * (len(named) < 2)} {wanted} GPU{'s' * (wanted != 1)}"
    has = f"a replica of `{role.name}` has {role.gpus}" if role.gpus else f"`{role.name}` asks for none"
    message = f"{shown} {takes}, and {has}" if named else f"an engine without sizes {takes}, and {has}"
    replica = role.place("gpus") if role.gpus else role.place()
    place = role.place(*max(named.values())[1]) if named else replica
    labels = (Label(replica, "GPUs of a replica"),) if named and role.gpus else ()
    help_ = f"say `{next(iter(sizes))} = {role.gpus}`, or `gpus = 1`"
    if named or not role.gpus:
        help_ = _advice(role.gpus, wanted, node)
    yield Diagnostic("gpus-not-used", message, place, labels=labels, help=help_)


def _advice(gpus: int, wanted: int, node: int) -> str:
    """What to do of sizes that come to `wanted` and a replica's `gpus`: nothing that the nodes cannot have."""
    fits = whole(wanted, node)
    if not gpus:
        some = f"at most {node}, or a multiple of it, and sizes that come to that"
        return f"add `gpus = {wanted}`: those of one replica" if fits else f"add `gpus`, those of one replica: {some}"
    change = f"change the sizes so that they come to {gpus}"
    return f"say `gpus = {wanted}`, or {change}" if fits else change


def split(role: Role, given: Given, reason: str, sizes: Iterable[str]) -> Diagnostic:
    """The finding for ranks that would lie across nodes, at the largest size that is given."""
    named = [name for name in sizes if given.key(name) is not None]
    place = role.place(*given.at(max(named, key=given.number))) if named else role.place("gpus")
    return Diagnostic("ranks-split", reason, place, help="choose sizes that fill nodes, or whole nodes for a rank")


def twice(role: Role, place_of: tuple[str | int, ...], flag: str) -> Diagnostic:
    """The finding for a connector that `kv` and a flag set up."""
    return Diagnostic(
        "connector-twice",
        f"`kv` and `{flag}` both set up what hands the KV cache over",
        role.place(*place_of, part="key"),
        labels=(Label(role.place("kv", part="key"), "the same"),),
        help=f"keep one of them: `kv` sets `{flag}` itself",
    )


def events_twice(role: Role, place_of: tuple[str | int, ...], flag: str) -> Diagnostic:
    """The finding for KV events that `kv_events` and a flag set up."""
    return Diagnostic(
        "events-twice",
        f"`kv_events` and `{flag}` both set up KV events",
        role.place(*place_of, part="key"),
        labels=(Label(role.place("kv_events", part="key"), "the same"),),
        help="keep one of them",
    )
