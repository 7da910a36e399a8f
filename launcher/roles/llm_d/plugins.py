"""What a recipe's `epp_config` may say, by the catalogue of the EPP's version (`manifests/flags/epp/plugins/`).

Facts, of epp 0.10.0: it decodes strictly, so that an unknown key or parameter ends it; plugin types are those it
registers; references are to plugins of the same file; there is one profile handler, `single-profile-handler` for one
profile alone; plugins of alpha stability need `--allow-experimental-plugins` (`pkg/epp/config/loader/`,
`interface/plugin/registry.go:107`).
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from launcher.model.job import Role
from launcher.roles.command import given
from launcher.roles.llm_d.picking import API, DECODE, KIND, PREFILL
from launcher.roles.llm_d.references import KEY, listed, references, tables, unknown
from launcher.roles.llm_d.weights import CODES as WEIGHTS
from launcher.roles.llm_d.weights import weights
from launcher.text.diagnostic import Diagnostic, Label, Severity
from launcher.text.document import KeyPath, dotted

_HANDLER = "-profile-handler"
_DISAGGREGATED = ("disagg-profile-handler", "pd-profile-handler")
_SWITCH = "allow-experimental-plugins"

CODES: Mapping[str, str] = {
    **WEIGHTS,
    "epp-key": """The EPP's configuration has a key or value that the EPP does not take

It reads its configuration strictly and ends at what it does not know: keys of `EndpointPickerConfig`
(`llm-d.ai/v1alpha1`), and each plugin's parameters, as the version of the role `epp` has them.""",
    "epp-plugin": """The EPP's configuration names a plugin that the EPP does not have

Each of `plugins` has a `type`, one that the EPP's version registers; `pluginRef` and its kin name one of `plugins` (by
its type where it has no name). No name is there twice. The EPP ends otherwise.""",
    "epp-experimental": """A plugin needs a switch that is not on

Plugins of alpha stability end the EPP unless it is told to take them:

    [roles.epp]
    flags = { allow-experimental-plugins = true }""",
    "epp-deprecated": """A plugin is going to be dropped

A later version of the EPP says it will not have it. Where the role's version is that one, this is an error.""",
    "epp-discovery": """The EPP's configuration says where endpoints come from

The launcher lists every worker in a file, and adds the plugin that reads it and `dataLayer.discovery`.""",
    "epp-profiles": """The EPP's profiles do not fit the deployment

Prefill and decode need the profiles `prefill` and `decode` and a `disagg-profile-handler`; without it nothing would be
prefilled elsewhere. Whole requests need one profile, or a handler that chooses among several. Each profile has a name
of its own.""",
}


def findings(role: Role, halves: bool) -> Iterator[Diagnostic]:
    """Everything that is wrong with the configuration of the role."""
    config = role.epp_config
    if config is None:
        return
    known = role.catalogue.plugins if role.catalogue else {}
    weight = Severity.ERROR if role.catalogue and role.catalogue.version == role.version else Severity.WARNING
    found = [*_keys(role, known, weight), *_plugins(role, known, weight), *references(role), *_discovered(role)]
    yield from found
    if not found:
        yield from weights(role, known.get("plugins", {}))
        yield from _profiles(role, halves)


def _keys(role: Role, known: Mapping[str, Any], weight: Severity) -> Iterator[Diagnostic]:
    config = role.epp_config or {}
    if "configuration" in known:
        yield from _strange(role, (KEY,), config, known["configuration"], weight)
    for key, wanted in (("apiVersion", API), ("kind", KIND)):
        if config.get(key, wanted) not in (wanted, *(known.get("apis", ()) if key == "apiVersion" else ())):
            message = f"the launcher writes `{wanted}`, and `{key}` is `{config[key]}`"
            yield Diagnostic("epp-key", message, role.place(KEY, key), help=f"take `{key}` out")
    gates = config.get("featureGates")
    for index, gate in enumerate(gates if isinstance(gates, list) else ()):
        name, _, value = str(gate).partition("=")
        if known.get("gates") and name not in known["gates"]:
            yield unknown(
                role, (KEY, "featureGates", index), f"no feature gate is named `{name}`", name, known["gates"]
            )
        elif value.lower() not in ("", "true", "false"):
            message = f"feature gate `{name}` is `true` or `false`, and not `{value}`"
            help_ = f"write `{name}=true` or `{name}=false`"
            yield Diagnostic("epp-key", message, role.place(KEY, "featureGates", index), help=help_)


def _strange(role: Role, path: KeyPath, value: Any, tree: Any, weight: Severity) -> Iterator[Diagnostic]:
    """Keys that the tree of known ones has not, and values of another type; where it says nothing, anything goes."""
    wanted = "list" if isinstance(tree, list) else "table" if isinstance(tree, Mapping) else tree
    if wanted is not None and value is not None and not _fits(value, wanted):
        message, form = f"`{dotted(path[1:])}` must be {_WORDS[wanted]}", _FORMS[wanted]
        yield Diagnostic("epp-key", message, role.place(*path), weight, help=f"write {form}")
    elif isinstance(tree, list):
        for index, item in enumerate(value or ()):
            yield from _strange(role, (*path, index), item, tree[0], weight)
    elif isinstance(tree, Mapping):
        for key, item in (value or {}).items():
            if key in tree:
                yield from _strange(role, (*path, key), item, tree[key], weight)
            else:
                yield unknown(role, (*path, key), f"the EPP knows no key `{key}` here", key, tree, weight)


def _fits(value: Any, wanted: str) -> bool:
    """Whether Go takes it: no truth for a number, nor what JSON has no number for (`.nan`, `.inf`), but a whole number
    that is written with a point.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if wanted == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[wanted]) and (wanted == "boolean" or not isinstance(value, bool))


_TYPES: Mapping[str, Any] = {
    "list": list, "table": Mapping, "string": str, "boolean": bool, "integer": int, "number": (int, float),
}  # fmt: skip
_WORDS: Mapping[str, str] = {
    "list": "a list", "table": "a table", "string": "text", "boolean": "true or false",
    "integer": "a whole number", "number": "a number",
}  # fmt: skip


_FORMS: Mapping[str, str] = {
    "list": "`[…]`", "table": "`{…}`", "string": "it in quotes", "boolean": "`true` or `false`, without quotes",
    "integer": "digits, without quotes", "number": "digits, without quotes",
}  # fmt: skip
"""How each is written, in TOML as in YAML."""


def _plugins(role: Role, known: Mapping[str, Any], weight: Severity) -> Iterator[Diagnostic]:
    types, seen = known.get("plugins", {}), dict[str, int]()
    config = role.epp_config or {}
    for index, name, kind, _ in listed(config):
        path = (KEY, "plugins", index)
        if name in seen:
            label = Label(role.place(KEY, "plugins", seen[name]), "the other one")
            help_ = "give one of them another `name`"
            message = f"two plugins are named `{name}`"
            yield Diagnostic("epp-plugin", message, role.place(*path), labels=(label,), help=help_)
        seen.setdefault(name, index)
        if types and kind not in types:
            said = f"the EPP has no plugin `{kind}`"
            yield unknown(role, (*path, "type"), said, kind, types, weight, code="epp-plugin", part="value")
            continue
        about = types.get(kind, {})
        yield from _strange(
            role, (*path, "parameters"), config["plugins"][index].get("parameters"), about.get("parameters"), weight
        )
        yield from _stable(role, (*path, "type"), kind, about)


def _stable(role: Role, path: KeyPath, kind: str, about: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """Findings for a plugin that is not there yet, or not for long."""
    switch = given(role, _SWITCH)
    if about.get("alpha") and (switch is None or role.flags[switch] is not True):
        message = f"`{kind}` is experimental, and the EPP is not told to take it"
        help_ = f"add `flags = {{ {_SWITCH} = true }}` to `[roles.{role.name}]`"
        yield Diagnostic("epp-experimental", message, role.place(*path), help=help_)
    if "removal" in about:
        gone = _age(role.version or "0") >= _age(about["removal"])
        message = f"`{kind}` is {'no longer there in' if gone else 'to go in'} llm-d-router {about['removal']}"
        weight = Severity.ERROR if gone else Severity.WARNING
        yield Diagnostic("epp-deprecated", message, role.place(*path), weight, help=f"use `{about['instead']}`")


def _age(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in version.split(".")[:2])


def _discovered(role: Role) -> Iterator[Diagnostic]:
    config = role.epp_config or {}
    help_ = "take it out: the launcher lists every worker"
    layer = config.get("dataLayer")
    if isinstance(layer, Mapping) and "discovery" in layer:
        message = "where endpoints come from is for the launcher alone to say"
        yield Diagnostic("epp-discovery", message, role.place(KEY, "dataLayer", "discovery", part="key"), help=help_)
    for index, _, kind, _ in listed(config):
        if kind.endswith("file-discovery"):
            message = f"`{kind}` is for the launcher alone to add"
            yield Diagnostic("epp-discovery", message, role.place(KEY, "plugins", index, "type"), help=help_)


def _profiles(role: Role, halves: bool) -> Iterator[Diagnostic]:
    config = role.epp_config or {}
    profiles = [str(each.get("name")) for _, each in tables(config.get("schedulingProfiles"))]
    yield from _names(role)
    handlers = [(index, kind) for index, _, kind, _ in listed(config) if kind.endswith(_HANDLER)]
    for index, other in handlers[1:]:
        message = f"the EPP takes one profile handler, and `{other}` is another"
        yield Diagnostic(_PROFILES, message, role.place(KEY, "plugins", index, "type"), help="keep one of them")
    yield from (_of_halves if halves else _of_wholes)(role, profiles, handlers[0] if handlers else None)


def _names(role: Role) -> Iterator[Diagnostic]:
    """Findings for profiles without a name of their own."""
    seen = dict[str, int]()
    for index, each in tables((role.epp_config or {}).get("schedulingProfiles")):
        name = each.get("name")
        if not name:
            place = role.place(KEY, "schedulingProfiles", index)
            yield Diagnostic(_PROFILES, "a profile has no `name`", place, help="add it")
        elif str(name) in seen:
            label = Label(role.place(KEY, "schedulingProfiles", seen[str(name)], "name"), "the other one")
            place = role.place(KEY, "schedulingProfiles", index, "name")
            message, help_ = f"two profiles are named `{name}`", "give one of them another `name`"
            yield Diagnostic(_PROFILES, message, place, labels=(label,), help=help_)
        seen.setdefault(str(name), index)


_PROFILES = "epp-profiles"
_EXAMPLE = "`recipes/epp/precise-pd.yaml` is one that has all of it"
_Handler = tuple[int, str] | None


def _of_halves(role: Role, profiles: list[str], handler: _Handler) -> Iterator[Diagnostic]:
    for name in (PREFILL, DECODE):
        if name not in profiles:
            message = f"prefill and decode need a profile `{name}`"
            help_ = f"add one of that `name` to `schedulingProfiles`; {_EXAMPLE}"
            yield Diagnostic(_PROFILES, message, role.place(KEY, "schedulingProfiles", part="key"), help=help_)
    if handler is None or handler[1] not in _DISAGGREGATED:
        message = "prefill and decode need a `disagg-profile-handler`"
        help_ = f"add it to `plugins`; its `parameters` have `deciders`, which name one for `prefill`; {_EXAMPLE}"
        yield Diagnostic(_PROFILES, message, role.place(KEY, "plugins", part="key"), help=help_)


def _of_wholes(role: Role, profiles: list[str], handler: _Handler) -> Iterator[Diagnostic]:
    place = role.place(KEY, "schedulingProfiles", part="key")
    if not profiles:
        yield Diagnostic(_PROFILES, "the EPP needs a profile", place, help="add `schedulingProfiles`")
    elif len(profiles) > 1 and (handler is None or handler[1] == f"single{_HANDLER}"):
        message = f"{len(profiles)} profiles need a handler that chooses among them"
        yield Diagnostic(_PROFILES, message, place, help="keep one profile, or add a handler to `plugins`")
    elif handler is not None and handler[1] in _DISAGGREGATED:
        message = f"`{handler[1]}` is for prefill and decode, and workers serve whole requests"
        yield Diagnostic(_PROFILES, message, role.place(KEY, "plugins", handler[0], "type"), help="take it out")
