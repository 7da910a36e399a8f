"""What of a KV cache leaves a vLLM server: connectors and their ports, and events.

Facts of vLLM 0.11 to 0.33. NIXL: the side channel of a rank is `VLLM_NIXL_SIDE_CHANNEL_PORT` plus its data-parallel
index, its host defaults to localhost (`nixl/base_scheduler.py:76-80` of 0.33). Mooncake: a prefill worker's bootstrap
server listens on `VLLM_MOONCAKE_BOOTSTRAP_PORT`, 8998 unless said. `MultiConnector` has the others in
`kv_connector_extra_config.connectors`. KV events: a publisher binds where its endpoint has a `*`, and adds its rank to
the port (`distributed/kv_events.py:461-468,542-580` of 0.33).
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from launcher.model.given import Given
from launcher.model.job import Role
from launcher.roles.said import EVENTS

NIXL = "nixl"
MOONCAKE = "mooncake"

TRANSFER = "kv-transfer-config"
SCALE_OUT = "enable-scale-out"
"""With it vLLM 0.32 and later answer `/render`, which gives the tokens of a prompt; without it with 403."""

# 0.32 warns of `kv_both` for NIXL, and all versions take it; a worker is then what its router makes of it.
_SETUPS: Mapping[str, Mapping[str, str]] = {
    NIXL: {"kv_connector": "NixlConnector", "kv_role": "kv_both"},
    MOONCAKE: {"kv_connector": "MooncakeConnector"},
}
_PARTS = {"prefill": "kv_producer", "decode": "kv_consumer", "aggregate": "kv_both"}


def connectors(given: Given) -> tuple[str, ...]:
    """Names of the role's connectors in order, those inside of others too."""
    if given.role.kv is not None:
        return (_SETUPS[given.role.kv]["kv_connector"],)
    return tuple(_named(given.table(TRANSFER)))


def _named(table: Mapping[str, Any]) -> Iterator[str]:
    name, extra = table.get("kv_connector"), table.get("kv_connector_extra_config")
    if isinstance(name, str):
        yield name
    inner = extra.get("connectors") if isinstance(extra, Mapping) else None
    for each in inner if isinstance(inner, list) else ():
        if isinstance(each, Mapping):
            yield from _named(each)


def kinds(given: Given) -> frozenset[str]:
    """Which ways of handing over the role's connectors have: of `nixl`, `mooncake`."""
    names = connectors(given)
    nixl = {NIXL for name in names if name.startswith("Nixl")}
    return frozenset(nixl | {MOONCAKE for name in names if name == "MooncakeConnector"})


def transfer(role: Role) -> tuple[str, ...]:
    """The words that `kv` stands for."""
    if role.kv is None:
        return ()
    setup = {**_SETUPS[role.kv]}
    setup.setdefault("kv_role", _PARTS[role.mode or "aggregate"])
    return (f"--{TRANSFER}={_json(setup)}",)


def published(endpoint: str, url: str, model: str) -> tuple[str, ...]:
    """The words that make a server publish its KV events at a ZMQ `endpoint`; `url` is what routers call it by."""
    table = {
        "enable_kv_cache_events": True,
        "publisher": "zmq",
        "endpoint": endpoint,
        "topic": f"kv@{url.partition('://')[2]}@{model}",
    }
    return (f"--{EVENTS}={_json(table)}",)


def _json(value: Mapping[str, Any]) -> str:
    """JSON in which late references still are marks, to be bound."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
