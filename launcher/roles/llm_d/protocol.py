"""KV connectors of vLLM and the protocols of the sidecar (`--kv-connector`, llm-d-router 0.10.0)."""

from collections.abc import Mapping

from launcher.roles.base import Endpoint

PROTOCOLS: Mapping[str, str] = {"NixlConnector": "nixlv2"}
"""Connector → the protocol that hands over its way."""

NAMES = tuple(PROTOCOLS)


def protocol(endpoint: Endpoint) -> str | None:
    """The protocol of the endpoint's connector, of several the first that has one; None where none has."""
    return next((PROTOCOLS[name] for name in endpoint.connectors if name in PROTOCOLS), None)
