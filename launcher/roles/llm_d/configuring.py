"""The EPP's configuration: the recipe's or the default one, with what only the launcher knows."""

from collections.abc import Mapping
from typing import Any

from launcher.model.job import Role
from launcher.roles.base import Net
from launcher.roles.llm_d.addresses import ENDPOINTS_FILE, in_run, picker
from launcher.roles.llm_d.events import PORT, completed
from launcher.roles.llm_d.picking import API, KIND, default

DISCOVERY = "launch-endpoints"
"""Name of the plugin that reads the endpoints file."""


def configuration(role: Role, net: Net) -> dict[str, Any]:
    """The EPP's configuration: the recipe's, else the default, with discovery by the endpoints file."""
    halves = any(each.mode != "aggregate" for each in net.endpoints)
    given = role.epp_config if role.epp_config is not None else default(halves)
    discovery = {
        "name": DISCOVERY,
        "type": "file-discovery",
        "parameters": {"path": in_run(ENDPOINTS_FILE), "watchFile": False},
    }
    epp, layer = picker(net), given.get("dataLayer")
    plugins = completed(given, net, epp.ports.get(PORT) if epp else None)
    return {
        "apiVersion": API,
        "kind": KIND,
        **given,
        "plugins": [*plugins, discovery],
        "dataLayer": {**(layer if isinstance(layer, Mapping) else {}), "discovery": {"pluginRef": DISCOVERY}},
    }
