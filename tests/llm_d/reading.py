"""What the EPP reads, refused as it does: `pkg/epp/config/loader` and `discovery/file` of llm-d-router 0.10.0."""

import ipaddress
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.llm_d.words import ROOT, VERSION, Wrong

PLUGINS: dict[str, dict[str, Any]] = json.loads(
    (ROOT / "manifests" / "flags" / "epp" / "plugins" / f"{VERSION}.json").read_text(encoding="utf-8")
)["plugins"]
_APIS = ("llm-d.ai/v1alpha1", "inference.networking.x-k8s.io/v1alpha1")
_KEYS = {
    "the configuration": {
        "apiVersion", "kind", "featureGates", "plugins", "schedulingProfiles", "dataLayer", "flowControl",
        "requestHandler", "saturationDetector", "parser",
    },
    "a plugin": {"name", "type", "parameters"},
    "a profile": {"name", "plugins"},
    "a profile's plugin": {"pluginRef", "weight"},
    "dataLayer": {"injectDefaults", "sources", "discovery", "crossReplicaSyncerPluginRef", "crossReplicaSyncInterval"},
    "discovery": {"pluginRef"},
}  # fmt: skip
HANDLERS = {name for name in PLUGINS if name.endswith("-profile-handler")}
DISAGGREGATED = "disagg-profile-handler"


@dataclass(frozen=True)
class Endpoint:
    """One entry of the endpoints file."""

    name: str
    address: str
    port: str
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        return f"{self.address}:{self.port}"


@dataclass(frozen=True)
class Configuration:
    """Types of plugins by name, their parameters, profiles as lists of plugin and weight, and the endpoints file."""

    types: dict[str, str]
    parameters: dict[str, dict[str, Any]]
    profiles: dict[str, list[tuple[str, float]]]
    handler: str
    endpoints: Path


def configuration(text: str, *, experimental: bool) -> Configuration:
    """The configuration of a text. Raises Wrong."""
    raw = json.loads(text)
    _known("the configuration", raw)
    if raw.get("apiVersion") not in _APIS or raw.get("kind") != "EndpointPickerConfig":
        raise Wrong(f"no kind {raw.get('kind')!r} is registered for version {raw.get('apiVersion')!r}")
    types, parameters = _plugins(raw.get("plugins", []), experimental=experimental)
    profiles = {}
    for profile in raw.get("schedulingProfiles", []):
        _known("a profile", profile)
        for each in profile["plugins"]:
            _known("a profile's plugin", each)
            if each["pluginRef"] not in types:
                raise Wrong(f"schedulingProfiles[{profile['name']}] references undefined plugin {each['pluginRef']!r}")
        if profile["name"] in profiles:
            raise Wrong(f"schedulingProfiles has duplicate name {profile['name']!r}")
        profiles[profile["name"]] = [(each["pluginRef"], float(each.get("weight", 1))) for each in profile["plugins"]]
    handler = _handler(types, parameters, profiles)
    return Configuration(types, parameters, profiles, handler, _discovery(raw.get("dataLayer", {}), types, parameters))


def _plugins(listed: list[dict[str, Any]], *, experimental: bool) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    types: dict[str, str] = {}
    parameters: dict[str, dict[str, Any]] = {}
    for spec in listed:
        _known("a plugin", spec)
        kind = spec.get("type", "")
        name = spec.get("name", kind)
        if kind not in PLUGINS:
            raise Wrong(f"plugin type {kind!r} is not registered")
        if name in types:
            raise Wrong(f"duplicate plugin name {name!r}")
        if PLUGINS[kind].get("alpha") and not experimental:
            raise Wrong(f"plugin {name!r} has Alpha stability level, but --allow-experimental-plugins is not set")
        _parameters(name, spec.get("parameters", {}), PLUGINS[kind].get("parameters"))
        types[name], parameters[name] = kind, spec.get("parameters", {})
    return types, parameters


_KINDS: dict[str, Any] = {"string": str, "boolean": bool, "integer": int, "number": (int, float)}


def _fits(given: Any, known: str) -> bool:
    return isinstance(given, _KINDS[known]) and (known == "boolean" or not isinstance(given, bool))


def _parameters(where: str, given: Any, known: Any) -> None:
    if isinstance(known, str) and given is not None and not _fits(given, known):
        raise Wrong(f"failed to create plugin {where!r}: json: cannot unmarshal {given!r} into a {known}")
    if isinstance(known, list) and isinstance(given, list):
        for item in given:
            _parameters(where, item, known[0])
    if not isinstance(known, dict) or not isinstance(given, dict):
        return
    for key, value in given.items():
        if key not in known:
            raise Wrong(f"failed to create plugin {where!r}: json: unknown field {key!r}")
        _parameters(where, value, known[key])


def _handler(types: dict[str, str], parameters: dict[str, dict[str, Any]], profiles: dict[str, Any]) -> str:
    handlers = [name for name, kind in types.items() if kind in HANDLERS]
    if len(handlers) > 1:
        raise Wrong(f"multiple profile handlers found {handlers}; only one is allowed")
    if not handlers:
        if len(profiles) != 1:
            raise Wrong("no profile handler configured")
        return "single-profile-handler"
    kind = types[handlers[0]]
    if kind == "single-profile-handler" and len(profiles) > 1:
        raise Wrong("SingleProfileHandler cannot support multiple scheduling profiles")
    for decider in parameters[handlers[0]].get("deciders", {}).values():
        if decider not in types:
            raise Wrong(f"a plugin has a dependency on the unregistered plugin {decider}")
    return kind


def _discovery(layer: dict[str, Any], types: dict[str, str], parameters: dict[str, dict[str, Any]]) -> Path:
    _known("dataLayer", layer)
    if "discovery" not in layer:
        raise Wrong("unable to load in-cluster configuration: there is no Kubernetes here")
    _known("discovery", layer["discovery"])
    name = layer["discovery"]["pluginRef"]
    if types.get(name) != "file-discovery":
        raise Wrong(f"discovery plugin {name!r} not found")
    path = parameters[name].get("path")
    if not path:
        raise Wrong("file-discovery: 'path' parameter is required")
    return Path(path)


def _known(what: str, value: dict[str, Any]) -> None:
    strange = value.keys() - _KEYS[what]
    if strange:
        raise Wrong(f"strict decoding error: unknown field {sorted(strange)[0]!r} in {what}")


def endpoints(text: str) -> list[Endpoint]:
    """The endpoints of a file's text. Raises Wrong."""
    found = []
    for entry in json.loads(text)["endpoints"]:
        if not isinstance(entry["port"], str):
            raise Wrong("json: cannot unmarshal number into Go struct field EndpointEntry.port of type string")
        if not entry["port"].isdigit() or not 1 <= int(entry["port"]) <= 65535:
            raise Wrong(f"endpoint {entry['name']!r}: invalid port {entry['port']!r}")
        try:
            ipaddress.IPv4Address(entry["address"])
        except ValueError:
            raise Wrong(f"endpoint {entry['name']!r}: address {entry['address']!r} is not IPv4") from None
        found.append(Endpoint(entry["name"], entry["address"], entry["port"], entry.get("labels", {})))
    if len({each.name for each in found}) < len(found):
        raise Wrong("endpoints: a name stands twice")
    return found
