"""KV connectors of vLLM and the protocols of the sidecar (`--kv-connector`, llm-d-router 0.10.0 and its main of 0.11).

It has three more, of which none is told here. `shared-storage` is for vLLM's example of a connector, which keeps files
in a folder that both halves would have to see; `offloading` needs each worker's own address in its connector's
configuration (`secondary_tiers`); `sglang` is another engine's.
"""

from collections.abc import Iterable, Mapping

from launcher.roles.base import Endpoint

MOONCAKE = "mooncake"
PROTOCOLS: Mapping[str, str] = {"NixlConnector": "nixlv2", "MooncakeConnector": MOONCAKE}
"""Connector → the protocol that hands over its way."""

NAMES = tuple(PROTOCOLS)


def protocol(endpoint: Endpoint) -> str | None:
    """The protocol of the endpoint's connector, of several the first that has one; None where none has."""
    return next((PROTOCOLS[name] for name in endpoint.connectors if name in PROTOCOLS), None)


def bootstraps(endpoints: Iterable[Endpoint]) -> dict[int, Endpoint]:
    """Port → the first prefill worker whose bootstrap server listens on it."""
    found: dict[int, Endpoint] = {}
    for each in endpoints:
        if each.mode == "prefill" and each.bootstrap is not None:
            found.setdefault(each.bootstrap, each)
    return found
