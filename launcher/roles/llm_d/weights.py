"""Weights of scorers in the EPP's profiles: what it takes, and nobody means.

Facts, of epp 0.10.0: a weight is any number, 1 where none is given, and multiplies a score that is held between 0 and
1; of plugins that score nothing it is not looked at (`pkg/epp/config/loader/configloader.go:367`,
`pkg/epp/scheduling/scheduler_profile.go:249`). `weighted-random-picker` takes sums of 0 and less for nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from launcher.model.job import Role
from launcher.roles.llm_d.references import KEY, listed, tables
from launcher.text.advice import written
from launcher.text.diagnostic import Diagnostic, Severity

CODES: Mapping[str, str] = {
    "epp-weight": """A weight in the EPP's configuration does nothing, or the contrary

The EPP adds up the scores of a profile's scorers, each times its `weight` (1 unless given), and takes any number. Below
0 it prefers the worker that the scorer says to avoid: the longest queue, the emptiest cache. With 0 a scorer counts for
nothing, and filters and pickers have no weight. This is a warning.

    schedulingProfiles:
    - name: default
      plugins:
      - pluginRef: queue-scorer
        weight: 2""",
}

_SCORER = "-scorer"
_ODD = ("context-length-aware",)
"""Scorers that are not called so (epp 0.10.0)."""


def weights(role: Role, known: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """Warnings of weights; `known` are the types of plugins that the EPP has."""
    config = role.epp_config or {}
    kinds = {name: kind for _, name, kind, _ in listed(config)}
    for number, profile in tables(config.get("schedulingProfiles")):
        for index, each in tables(profile.get("plugins")):
            name, weight = str(each.get("pluginRef")), each.get("weight")
            found = _odd(name, kinds.get(name, ""), weight, known)
            if found is not None:
                message, help_ = found
                place = role.place(KEY, "schedulingProfiles", number, "plugins", index, "weight")
                yield Diagnostic("epp-weight", message, place, Severity.WARNING, help=written(help_, place))


def _odd(name: str, kind: str, weight: Any, known: Mapping[str, Any]) -> tuple[str, str] | None:
    """What is odd about the weight, and what to do; None for nothing, and for what is no weight."""
    if not isinstance(weight, int | float) or isinstance(weight, bool):
        return None
    if kind in known and not kind.endswith(_SCORER) and kind not in _ODD:
        return f"`{name}` scores nothing: its weight is not looked at", "take `weight` out"
    if weight < 0:
        return (
            f"with the weight {weight} the worker that `{name}` scores least is preferred",
            "write `weight = 1` or more",
        )
    if weight == 0:
        return f"with the weight 0 `{name}` counts for nothing", "take the plugin out of the profile, or raise `weight`"
    return None
