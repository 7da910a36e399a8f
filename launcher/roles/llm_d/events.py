"""KV events: workers tell the EPP what their caches hold, so that it picks by that (precise prefix routing).

Facts, of epp 0.10.0: `precise-prefix-cache-producer` binds `kvEventsConfig.zmqEndpoint` and every worker connects to it
(`producer.go:193`). Told nothing, it would dial each worker at one port, which with several on a node is one worker's
(llm-d-router issue 2948). Its topic names the endpoint that the EPP picks. Prompts become tokens by a worker's
`/render`, which `token-producer` asks at `vllm.url`; without one the EPP estimates tokens, and no prompt is ever found.
`prefix-cache-scorer` scores by what the producer found when it is told the producer's name.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from launcher.model.job import Job, Role
from launcher.roles.base import Endpoint, Net
from launcher.roles.llm_d.references import KEY, listed
from launcher.text.diagnostic import Diagnostic, Label

PRODUCER = "precise-prefix-cache-producer"
TOKENS = "token-producer"
PORT = "kv_events"
_EVENTS = "kvEventsConfig"
_SOURCE = "prefixMatchInfoProducerName"

CODES: Mapping[str, str] = {
    "events-half": """KV events are sent by nobody, or heard by nobody

`kv_events = true` has workers tell what their KV caches hold, and `precise-prefix-cache-producer`, together with
`token-producer`, has the EPP listen. With one of them alone all runs, and no request is ever picked by its prefix.

    [roles.worker]
    kv_events = true

    [router]
    kind = "llm-d"
    epp_config = "precise.yaml\"""",
    "events-of-ranks": """Ranks behind one address send KV events

The topic of an event names the endpoint that the EPP picks, and all ranks of a server have one. With
`data-parallel-external-lb = true` each rank has a server, and an address, of its own.""",
    "events-owned": """A parameter for the launcher alone to set

Where the EPP listens for KV events, and which worker turns prompts into tokens, follow from the plan. The EPP ends
where `token-producer` is told of another way to make tokens too, and `precise-prefix-cache-producer` of any.""",
    "events-unnamed": """The topic of KV events cannot be read

It is `kv@ADDRESS@MODEL`, which the EPP takes apart at each `@`: with one in the model's name no event counts for any
worker (epp 0.10.0).

    [model]
    served_name = "no-such-sign\"""",
}


def collects(role: Role) -> bool:
    """Whether the EPP listens for KV events."""
    return any(kind == PRODUCER for _, _, kind, _ in listed(role.epp_config or {}))


def completed(config: Mapping[str, Any], net: Net, port: int | None) -> list[Any]:
    """The plugins of a configuration, told where KV events come in and who makes tokens."""
    plugins = config.get("plugins")
    return [
        _completed(plugin, net, port) if isinstance(plugin, Mapping) else plugin
        for plugin in (plugins if isinstance(plugins, list) else ())
    ]


def _completed(plugin: Mapping[str, Any], net: Net, port: int | None) -> Mapping[str, Any]:
    parameters = _table(plugin.get("parameters"))
    if plugin.get("type") == PRODUCER and port is not None:
        socket = {"zmqEndpoint": f"tcp://*:{port}", "discoverPods": False}
        return {**plugin, "parameters": {**parameters, _EVENTS: {**_table(parameters.get(_EVENTS)), **socket}}}
    if plugin.get("type") == TOKENS and net.renderer is not None:
        vllm = {**_table(parameters.get("vllm")), "url": net.renderer.url}
        return {**plugin, "parameters": {"modelName": net.served_name, **parameters, "vllm": vllm}}
    return plugin


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def findings(job: Job, role: Role, endpoints: tuple[Endpoint, ...]) -> Iterator[Diagnostic]:
    """What is wrong between the workers' events and the EPP's configuration."""
    yield from _owned(role)
    telling = [worker for worker in job.workers if worker.kv_events]
    plugins = {kind: (index, name) for index, name, kind, _ in listed(role.epp_config or {})}
    if telling and PRODUCER not in plugins:
        place = telling[0].place("kv_events", part="key")
        message = f"nobody hears the KV events of `{telling[0].name}`"
        labels = (Label(role.place(KEY, part="key"), f"it has no `{PRODUCER}`"),) if role.epp_config else ()
        help_ = f"add `{PRODUCER}` and `{TOKENS}` to `epp_config` of `[router]`, or take `kv_events` out"
        yield Diagnostic("events-half", message, place, labels=labels, help=help_)
    if PRODUCER in plugins:
        yield from _heard(job, role, plugins)
        yield from _twice(role)
        if "@" in job.served_name:
            help_ = "call it otherwise: its path may be what it likes"
            place = job.origins.place(("model", "served_name"))
            yield Diagnostic("events-unnamed", f"`{job.served_name}` cannot stand in a topic", place, help=help_)
    for worker in telling:
        if any(each.role == worker.name and each.ranks > 1 for each in endpoints):
            message = f"the data-parallel ranks of `{worker.name}` have one address, and send KV events"
            help_ = "`data-parallel-external-lb = true` in its flags gives each rank an address of its own"
            yield Diagnostic("events-of-ranks", message, worker.place("kv_events", part="key"), help=help_)


def _heard(job: Job, role: Role, plugins: Mapping[str, tuple[int, str]]) -> Iterator[Diagnostic]:
    index, name = plugins[PRODUCER]
    place = role.place(KEY, "plugins", index, "type")
    if not any(worker.kv_events for worker in job.workers):
        message, help_ = (
            f"`{PRODUCER}` listens, and no worker sends KV events",
            "say `kv_events = true` in a worker role",
        )
        yield Diagnostic("events-half", message, place, help=help_)
    if TOKENS not in plugins:
        message = f"`{PRODUCER}` needs the tokens of prompts, which nobody makes"
        yield Diagnostic("events-half", message, place, help=f"add `{TOKENS}` to `plugins`")
    used = [parameters.get(_SOURCE) for _, _, _, parameters in listed(role.epp_config or {})]
    if name not in used:
        message, help_ = (
            f"nothing picks by what `{name}` finds",
            f"say `{_SOURCE}` in a `prefix-cache-scorer`: `{name}`",
        )
        yield Diagnostic("events-half", message, place, help=help_)


def _owned(role: Role) -> Iterator[Diagnostic]:
    for index, _, kind, parameters in listed(role.epp_config or {}):
        for outer, keys in _OWNED.get(kind, ()):
            inner = _table(parameters.get(outer))
            for key in keys:
                if key in inner:
                    place = role.place(KEY, "plugins", index, "parameters", outer, key, part="key")
                    yield Diagnostic(
                        "events-owned", f"`{key}` is for the launcher alone to set", place, help="take it out"
                    )


def _twice(role: Role) -> Iterator[Diagnostic]:
    """Findings for a second way to make tokens, where the launcher says one."""
    for index, _, kind, parameters in listed(role.epp_config or {}):
        for key in _OTHERS if kind == TOKENS else ():
            if key in parameters:
                message = f"a worker makes tokens of prompts, and `{key}` is another way"
                place = role.place(KEY, "plugins", index, "parameters", key, part="key")
                yield Diagnostic("events-owned", message, place, help="take it out")


_OWNED: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    PRODUCER: (
        (_EVENTS, ("zmqEndpoint", "discoverPods", "podDiscoveryConfig")),
        ("indexerConfig", ("tokenizersPoolConfig",)),
    ),
    TOKENS: (("vllm", ("url",)),),
}
_OTHERS = ("estimate", "udsTokenizerConfig")
"""Ways to make tokens that the launcher's excludes."""
