"""What the EPP is told: its endpoints, and how it picks one of them (`llm-d.ai/v1alpha1`).

Facts, of epp 0.10.0: an endpoint's address is an IPv4 literal and its port a string, else the EPP ends; unknown keys of
the configuration end it too. `dataLayer.discovery.pluginRef` is taken by 0.10 and 0.11. A configuration that has
discovery alone gets no scorers, so the default ones are written out: those of llm-d's guide without Kubernetes.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from launcher.model.job import Mode
from launcher.roles.base import Endpoint
from launcher.roles.llm_d.addresses import address
from launcher.run.script import bind

API = "llm-d.ai/v1alpha1"
KIND = "EndpointPickerConfig"

ROLE = "llm-d.ai/role"
_ROLES: Mapping[Mode, str] = {"aggregate": "both", "prefill": "prefill", "decode": "decode"}

_QUEUE, _CACHE, _PREFIX, _LRU = (
    "queue-scorer",
    "kv-cache-utilization-scorer",
    "prefix-cache-scorer",
    "no-hit-lru-scorer",
)
_WEIGHTS: Mapping[str, int] = {_QUEUE: 2, _CACHE: 2, _PREFIX: 3, _LRU: 2}
_PICKER = "max-score-picker"
_DECIDER = "always-disagg-pd-decider"

PREFILL, DECODE = "prefill", "decode"
"""Profiles that prefill and decode need."""


def named(plugin: Mapping[str, Any]) -> str:
    """What a plugin of a configuration is referred to by: its name, or its type."""
    return str(plugin.get("name") or plugin.get("type"))


def entries(endpoints: tuple[Endpoint, ...]) -> dict[str, Any]:
    """The endpoints file: one entry for each worker or rank; that of a decode worker is its sidecar."""
    found = []
    for each in endpoints:
        host, port = address(each)
        found.append({"name": each.name, "address": host, "port": port, "labels": {ROLE: _ROLES[each.mode]}})
    return {"endpoints": found}


def length(endpoints: tuple[Endpoint, ...]) -> int:
    """Bytes of the endpoints file as it is written, with addresses that could not be longer."""
    listed = bind(entries(endpoints), defaultdict(lambda: "255.255.255.255"))
    return len(json.dumps(listed, ensure_ascii=False, indent=2).encode()) + 1


def default(halves: bool) -> dict[str, Any]:
    """The configuration, less discovery, where the recipe has none."""
    return _halves() if halves else _whole()


def _whole() -> dict[str, Any]:
    names = (*_WEIGHTS, _PICKER, "single-profile-handler")
    return {"plugins": [{"type": name} for name in names], "schedulingProfiles": [_profile("default", *_WEIGHTS)]}


def _halves() -> dict[str, Any]:
    handler = {"type": "disagg-profile-handler", "parameters": {"deciders": {PREFILL: _DECIDER}}}
    names = (*_WEIGHTS, "prefill-filter", "decode-filter", _PICKER, _DECIDER)
    return {
        "plugins": [*({"type": name} for name in names), handler],
        "schedulingProfiles": [
            _profile(PREFILL, "prefill-filter", *_WEIGHTS),
            _profile(DECODE, "decode-filter", _QUEUE, _CACHE),
        ],
    }


def _profile(name: str, *plugins: str) -> dict[str, Any]:
    listed: list[dict[str, Any]] = [
        {"pluginRef": plugin, "weight": _WEIGHTS[plugin]} if plugin in _WEIGHTS else {"pluginRef": plugin}
        for plugin in plugins
    ]
    return {"name": name, "plugins": [*listed, {"pluginRef": _PICKER}]}
