"""What the EPP reads, refused as it does: `pkg/epp/config/loader` and `discovery/file` of llm-d-router 0.10.0."""

import ipaddress
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.llm_d.words import ROOT, VERSION, Wrong

_CATALOGUE: dict[str, Any] = json.loads(
    (ROOT / "manifests" / "flags" / "epp" / "plugins" / f"{VERSION}.json").read_text(encoding="utf-8")
)
PLUGINS: dict[str, dict[str, Any]] = _CATALOGUE["plugins"]
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
    _gates(raw.get("featureGates", []))
    types, parameters = _plugins(raw.get("plugins", []), experimental=experimental)
    _references(raw, types)
    profiles = _profiles(raw.get("schedulingProfiles", []), types)
    handler = _handler(types, parameters, profiles)
    return Configuration(types, parameters, profiles, handler, _discovery(raw.get("dataLayer", {}), types, parameters))


def _gates(given: list[str]) -> None:
    for gate in given:
        name, _, value = gate.partition("=")
        if name not in _CATALOGUE["gates"]:
            raise Wrong(f"feature gate {name!r} is unknown or unregistered")
        if value.lower() not in ("", "true", "false"):
            raise Wrong(f"{value} is not a valid value for the feature gate {name}")


def _references(raw: dict[str, Any], types: dict[str, str]) -> None:
    """What is referred to outside of profiles; the first three the EPP adds itself where they are not there."""
    known = {*types, "metrics-data-source", "core-metrics-extractor", "utilization-detector"}
    for parser in raw.get("requestHandler", {}).get("parsers", []):
        if parser["pluginRef"] not in types:
            raise Wrong(f"parser references undefined plugin {parser['pluginRef']!r}")
    detector = raw.get("flowControl", {}).get("saturationDetector", {}).get("pluginRef", "utilization-detector")
    if detector not in known:
        raise Wrong(f"saturation detector references undefined plugin {detector!r}")
    for source in raw.get("dataLayer", {}).get("sources", []):
        if source["pluginRef"] not in known:
            raise Wrong(f"the plugin {source['pluginRef']} is not a fwkdl.DataSource")
        for each in source.get("extractors", []):
            if each["pluginRef"] not in known:
                raise Wrong(f"the plugin {each['pluginRef']} is not registered")


def _profiles(listed: list[dict[str, Any]], types: dict[str, str]) -> dict[str, list[tuple[str, float]]]:
    profiles: dict[str, list[tuple[str, float]]] = {}
    for index, profile in enumerate(listed):
        _known("a profile", profile)
        name = profile.get("name")
        if not name:
            raise Wrong(f"schedulingProfiles[{index}] is missing a name")
        if name in profiles:
            raise Wrong(f"schedulingProfiles[{index}] has duplicate name {name!r}")
        for number, each in enumerate(profile["plugins"]):
            _known("a profile's plugin", each)
            if not each.get("pluginRef"):
                raise Wrong(f"schedulingProfiles[{name}].plugins[{number}] is missing a 'pluginRef'")
            if each["pluginRef"] not in types:
                raise Wrong(f"schedulingProfiles[{name}] references undefined plugin {each['pluginRef']!r}")
        profiles[name] = [(each["pluginRef"], float(each.get("weight", 1))) for each in profile["plugins"]]
    return profiles


def _plugins(listed: list[dict[str, Any]], *, experimental: bool) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    types: dict[str, str] = {}
    parameters: dict[str, dict[str, Any]] = {}
    for spec in listed:
        _known("a plugin", spec)
        kind = spec.get("type", "")
        name = spec.get("name", kind)
        if not kind:
            raise Wrong(f"plugin {name!r} is missing a type")
        if kind not in PLUGINS:
            raise Wrong(f"plugin type {kind!r} is not registered")
        if name in types:
            raise Wrong(f"duplicate plugin name {name!r}")
        if PLUGINS[kind].get("alpha") and not experimental:
            raise Wrong(f"plugin {name!r} has Alpha stability level, but --allow-experimental-plugins is not set")
        _parameters(name, spec.get("parameters", {}), PLUGINS[kind].get("parameters"))
        _made(kind, spec.get("parameters", {}))
        types[name], parameters[name] = kind, spec.get("parameters", {})
    return types, parameters


def _made(kind: str, given: dict[str, Any]) -> None:
    """What factories of plugins refuse, of those that a launcher or its recipes are likely to tell something."""
    if kind in ("token-producer", "tokenizer"):
        served = "vllm" in given or bool(given.get("modelName"))
        if ("estimate" in given) + ("udsTokenizerConfig" in given) + served > 1:
            raise Wrong("only one of 'estimate', 'vllm', or 'udsTokenizerConfig' may be set")
        if served and not given.get("modelName"):
            raise Wrong("'modelName' must be specified")
    if given.get("indexerConfig", {}).get("tokenizersPoolConfig") is not None:
        raise Wrong("tokenizersPoolConfig is not supported; configure a token-producer plugin instead")
    strategy = given.get("strategy", STRATEGIES[0])
    if kind.startswith("session-affinity") and strategy not in STRATEGIES:
        raise Wrong(f"strategy must be {' or '.join(STRATEGIES)}, got {strategy!r}")
    for source in given.get("sessionIdConfig", {}).get("sources", []):
        if bool(source.get("header")) == bool(source.get("attribute")):
            raise Wrong("exactly one of header or attribute must be set")


STRATEGIES = ("encoded_endpoint_header", "session_id")

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


MOST = 1 << 20


def endpoints(text: str) -> list[Endpoint]:
    """The endpoints of a file's text. Raises Wrong."""
    found = []
    if len(text.encode()) > MOST:
        raise Wrong("endpoints file exceeds 1 MiB limit")
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
