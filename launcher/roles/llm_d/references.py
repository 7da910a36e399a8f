"""Who is who in the EPP's configuration: plugins by name, and what refers to them.

Facts, of epp 0.10.0 (`pkg/epp/config/loader/validation.go`, `configloader.go`): a plugin without a type ends it, and so
does a reference to a plugin that is not in the file.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from launcher.model.job import Role
from launcher.roles.llm_d.picking import named
from launcher.text.diagnostic import Diagnostic, Severity
from launcher.text.document import KeyPath
from launcher.text.suggest import nearest

KEY = "epp_config"
_REF = "pluginRef"


def tables(value: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The tables of a list, with their places in it."""
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, Mapping):
            yield index, item


def listed(config: Mapping[str, Any]) -> Iterator[tuple[int, str, str, Mapping[str, Any]]]:
    """Index, name, type and parameters of each plugin that has a type."""
    for index, each in tables(config.get("plugins")):
        if isinstance(each.get("type"), str):
            parameters = each.get("parameters")
            yield index, named(each), each["type"], parameters if isinstance(parameters, Mapping) else {}


def references(role: Role) -> Iterator[Diagnostic]:
    """Plugins that are none, and references to none."""
    config = role.epp_config or {}
    names = [name for _, name, _, _ in listed(config)]
    for index, each in tables(config.get("plugins")):
        if not each.get("type"):
            place = role.place(KEY, "plugins", index)
            yield Diagnostic("epp-plugin", "a plugin has no `type`", place, help="add it, or take the plugin out")
    for path, name in _referred(config):
        if name not in names:
            yield unknown(role, path, f"`plugins` has none that is named `{name}`", name, names, code="epp-plugin")


def _referred(config: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Paths and names of all references to plugins that the EPP looks up in the file."""
    for index, profile in tables(config.get("schedulingProfiles")):
        yield from _listed((KEY, "schedulingProfiles", index, "plugins"), profile.get("plugins"))
    yield from _listed((KEY, "requestHandler", "parsers"), _at(config, "requestHandler", "parsers"))
    for index, _, _, parameters in listed(config):
        deciders = parameters.get("deciders")
        for key, name in (deciders if isinstance(deciders, Mapping) else {}).items():
            yield (KEY, "plugins", index, "parameters", "deciders", key), str(name)
    for path, name in _injectable(config):
        if name and name not in _INJECTED:
            yield path, str(name)


def _injectable(config: Mapping[str, Any]) -> Iterator[tuple[KeyPath, Any]]:
    """References that may be to a plugin which the EPP adds itself."""
    sources: KeyPath = (KEY, "dataLayer", "sources")
    yield from _listed(sources, _at(config, "dataLayer", "sources"))
    for number, each in tables(_at(config, "dataLayer", "sources")):
        yield from _listed((*sources, number, "extractors"), each.get("extractors"))
    for keys in _SINGLE:
        yield (KEY, *keys), _at(config, *keys)


def _listed(path: KeyPath, value: Any) -> Iterator[tuple[KeyPath, str]]:
    for number, each in tables(value):
        yield (*path, number, _REF), str(each.get(_REF, ""))


_INJECTED = ("metrics-data-source", "core-metrics-extractor", "utilization-detector", "static-usage-limit-policy")
_SINGLE: tuple[tuple[str, ...], ...] = (
    ("parser", _REF),
    ("saturationDetector", _REF),
    ("flowControl", "saturationDetector", _REF),
    ("flowControl", "usageLimitPolicyPluginRef"),
    ("dataLayer", "crossReplicaSyncerPluginRef"),
)


def _at(config: Any, *keys: str) -> Any:
    """What is there, or None."""
    for key in keys:
        config = config.get(key) if isinstance(config, Mapping) else None
    return config


def unknown(
    role: Role, path: KeyPath, message: str, word: str, names: Any, weight: Severity = Severity.ERROR, **more: Any
) -> Diagnostic:
    """The finding that a word is none of `names`, with the nearest of them."""
    near = nearest(word, list(names))
    part = more.get("part", "value" if isinstance(path[-1], int) or more else "key")
    help_ = f"did you mean `{near}`?" if near else f"there are {', '.join(f'`{name}`' for name in list(names)[:20])}"
    return Diagnostic(more.get("code", "epp-key"), message, role.place(*path, part=part), weight, help=help_)
