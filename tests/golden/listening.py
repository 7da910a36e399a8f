"""Who listens where, and who is told of whom, read off the words, variables and files of a plan.

A witness of its own: it knows programs by their flags and nothing of the adapters that wrote the words. Facts are
those of vLLM 0.20 to 0.33, SGLang 0.5.5 to 0.5.23, the routers and llm-d-router 0.10.0, as the adapters cite them.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.golden.reading import EVERYWHERE, RUN, Address, Read, own, split

_SEARCHED = 50
"""Ports that a vLLM looks through from `VLLM_PORT` on before it comes to those of the next."""
_DERIVED = 7
"""Ports of an SGLang from `--dist-init-addr` on (`PortArgs` of 0.5.23)."""

PURPOSES = {"tokens": "api", "ext_proc": "grpc-port"}
"""What a call is for → what it must find bound there, where that has another name."""


def ranks(step: Read) -> range:
    """The data-parallel ranks of a vLLM server; of the nodes of a rank the first alone has what the rank listens on."""
    if "data-parallel-rank" in step.flags:
        return range(step.number("data-parallel-rank"), step.number("data-parallel-rank") + 1)
    if "node-rank" in step.flags:
        nodes, size = step.number("nnodes"), step.number("data-parallel-size", 1)
        rank, rest = divmod(step.number("node-rank") * size, nodes)
        return range(rank, rank if rest else rank + 1)
    first = step.number("data-parallel-start-rank")
    return range(first, first + step.number("data-parallel-size-local", step.number("data-parallel-size", 1)))


def _events(step: Read, numbers: range) -> Iterator[Address]:
    """What is bound, or called, for KV events: an endpoint with a `*` is bound, and a rank's number is added to it."""
    if "kv-events-config" not in step.flags:
        return
    host, port = split(json.loads(step.one("kv-events-config")).get("endpoint", "tcp://*:5557"))
    for rank in numbers:
        if host == "*":
            yield from step.bound("kv events", EVERYWHERE, port + rank)
        else:
            yield step.called("kv events", host, port + rank)


def _served(step: Read) -> Iterator[Address]:
    yield from step.bound("api", step.one("host"), step.number("port"))


def _vllm(step: Read) -> Iterator[Address]:
    env, own = step.env, ranks(step)
    if "headless" not in step.flags:
        yield from _served(step)
    if "VLLM_NIXL_SIDE_CHANNEL_PORT" in env:
        base = int(env["VLLM_NIXL_SIDE_CHANNEL_PORT"])
        yield from step.bound("nixl", env["VLLM_NIXL_SIDE_CHANNEL_HOST"], *(base + rank for rank in own))
    yield from _mooncake(step)
    if "VLLM_PORT" in env:
        first = int(env["VLLM_PORT"])
        yield from step.bound("search", EVERYWHERE, *range(first, first + _SEARCHED))
    for host, port, leads in (
        ("data-parallel-address", "data-parallel-rpc-port", own.start == 0 and not step.number("node-rank")),
        ("master-addr", "master-port", step.number("node-rank") == 0),
    ):
        if host in step.flags:
            yield from step.bound(host, step.one(host), step.number(port)) if leads else ()
    yield from _bound(_events(step, own))


def _mooncake(step: Read) -> Iterator[Address]:
    if "VLLM_MOONCAKE_BOOTSTRAP_PORT" in step.env:
        yield from step.bound("bootstrap", EVERYWHERE, int(step.env["VLLM_MOONCAKE_BOOTSTRAP_PORT"]))


def _bound(found: Iterator[Address]) -> Iterator[Address]:
    return (each for each in found if each.host == EVERYWHERE)


def _connected(found: Iterator[Address]) -> Iterator[Address]:
    return (each for each in found if each.host != EVERYWHERE)


def _sglang(step: Read) -> Iterator[Address]:
    if step.number("node-rank"):
        yield from step.bound("health", step.one("host"), step.number("port"))
        return
    yield from _served(step)
    if step.one("disaggregation-mode") == "prefill":
        yield from step.bound("bootstrap", step.one("host"), step.number("disaggregation-bootstrap-port"))
    if "dist-init-addr" in step.flags:
        host, port = split(step.one("dist-init-addr"))
        yield from step.bound("dist-init", host, *range(port, port + _DERIVED))
    if "nccl-port" in step.flags:
        yield from step.bound("nccl", EVERYWHERE, step.number("nccl-port"))
    groups = max(step.number("dp-size", 1), step.number("attn-dp-size", 1))
    yield from _bound(_events(step, range(groups)))


def _sim(step: Read) -> Iterator[Address]:
    yield from _served(step)
    if "disaggregation-bootstrap-port" in step.flags:
        yield from step.bound("bootstrap", step.one("host"), step.number("disaggregation-bootstrap-port"))
    if "VLLM_NIXL_SIDE_CHANNEL_PORT" in step.env:
        port, ranks = int(step.env["VLLM_NIXL_SIDE_CHANNEL_PORT"]), step.number("dp-size", 1)
        yield from step.bound("nixl", step.env["VLLM_NIXL_SIDE_CHANNEL_HOST"], *range(port, port + ranks))
    yield from _mooncake(step)
    yield from _bound(_events(step, range(step.number("dp-size", 1))))


def _router(step: Read) -> Iterator[Address]:
    yield from _served(step)
    yield from step.bound("metrics", step.one("prometheus-host"), step.number("prometheus-port"))


def _epp(step: Read) -> Iterator[Address]:
    for flag in ("grpc-port", "grpc-health-port", "metrics-port"):
        yield from step.bound(flag, EVERYWHERE, step.number(flag))
    for parameters in _plugins(step, "precise-prefix-cache-producer"):
        host, port = split(parameters["kvEventsConfig"]["zmqEndpoint"])
        assert host == "*"
        yield from step.bound("kv events", EVERYWHERE, port)


def _plugins(step: Read, kind: str) -> Iterator[Any]:
    plugins = step.file("config-file")["plugins"]
    yield from (plugin["parameters"] for plugin in plugins if plugin["type"] == kind)


def _envoy(step: Read) -> Iterator[Address]:
    file = step.file("config-path")
    for place in (file["admin"], *file["static_resources"]["listeners"]):
        socket = place["address"]["socket_address"]
        yield from step.bound(place.get("name", "admin"), socket["address"], socket["port_value"])


def _sidecar(step: Read) -> Iterator[Address]:
    yield from step.bound("api", EVERYWHERE, step.number("port"))


def _other(step: Read) -> Iterator[Address]:
    for name, port in step.ports.items():
        yield from step.bound(name, EVERYWHERE, port)


def _told_vllm(step: Read) -> Iterator[Address]:
    for host, port in (("data-parallel-address", "data-parallel-rpc-port"), ("master-addr", "master-port")):
        if host in step.flags:
            yield step.called(host, step.one(host), step.number(port))
    yield from _connected(_events(step, ranks(step)))


def _told_sglang(step: Read) -> Iterator[Address]:
    if "dist-init-addr" in step.flags:
        yield step.called("dist-init", *split(step.one("dist-init-addr")))


def _told_router(step: Read) -> Iterator[Address]:
    for url, *bootstrap in step.flags.get("prefill", ()):
        yield step.called("api", *split(url))
        yield from (step.called("bootstrap", split(url)[0], int(port)) for port in bootstrap)
    for kind in ("worker-urls", "decode"):
        for urls in step.flags.get(kind, ()):
            yield from (step.called("api", *split(url)) for url in urls)


def _told_epp(step: Read) -> Iterator[Address]:
    (discovery,) = _plugins(step, "file-discovery")
    for each in step.files[discovery["path"].removeprefix(f"{RUN}/")]["endpoints"]:
        yield step.called("api", each["address"], int(each["port"]))
    for parameters in _plugins(step, "token-producer"):
        yield step.called("tokens", *split(parameters["vllm"]["url"]))


def _told_envoy(step: Read) -> Iterator[Address]:
    for cluster in step.file("config-path")["static_resources"]["clusters"]:
        for group in cluster.get("load_assignment", {}).get("endpoints", ()):
            for each in group["lb_endpoints"]:
                socket = each["endpoint"]["address"]["socket_address"]
                yield step.called(cluster["name"], socket["address"], socket["port_value"])


def _told_sidecar(step: Read) -> Iterator[Address]:
    yield step.called("api", "localhost", step.number("model-server-port"))


Reader = Callable[[Read], Iterator[Address]]
PROGRAMS: Mapping[str, tuple[Reader, Reader]] = {
    "vllm": (_vllm, _told_vllm),
    "sglang.launch_server": (_sglang, _told_sglang),
    "trtllm-serve": (_served, lambda step: iter(())),
    f"{RUN}/sim.pyz": (_sim, lambda step: _connected(_events(step, range(1)))),
    "vllm_router.launch_router": (_router, _told_router),
    "sglang_router.launch_router": (_router, _told_router),
    "smg": (_router, _told_router),
    "epp": (_epp, _told_epp),
    "envoy": (_envoy, _told_envoy),
    "pd-sidecar": (_sidecar, _told_sidecar),
}
"""Program → what it binds, and what it is told of."""


def program(step: Read) -> str:
    """The program that a step runs, empty for one that is not known here."""
    return next((name for name in PROGRAMS if name in own(step.words)[:3]), "")


def listens(step: Read) -> list[Address]:
    """What a step binds; of an unknown program the ports that the plan gives it."""
    name = program(step)
    return list(PROGRAMS[name][0](step) if name else _other(step))


def told(step: Read) -> list[Address]:
    """What a step is told to call."""
    name = program(step)
    return list(PROGRAMS[name][1](step) if name else ())
