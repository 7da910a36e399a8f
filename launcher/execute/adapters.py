"""Adapters by name: the package's own, imported when a job needs them, and those of other packages."""

import importlib
import importlib.metadata
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from launcher.roles import GROUP, MODULES
from launcher.roles.base import Adapter, Adapters
from launcher.text.diagnostic import Diagnostic, Place, Refused
from launcher.text.suggest import nearest

CODES: Mapping[str, str] = {
    "unknown-adapter": """A role manifest names an adapter that does not exist

`adapter` is the module that turns the role into commands: one of the package's own, or one that an installed
package announces in its entry-point group `launcher.roles`. A container that needs no logic leaves it out.""",
}
"""Code → what `launch explain CODE` prints; the first line is its summary."""


def load(names: Iterable[str], places: Mapping[str, Place] = MappingProxyType({})) -> Adapters:
    """The adapter of each of `names`. Raises `Refused` for all that are unknown, at their `places` where given."""
    found: dict[str, Adapter] = {}
    lost: list[Diagnostic] = []
    for name in sorted(set(names)):
        adapter = _own(name) or _foreign(name)
        if adapter is None:
            lost.append(_unknown(name, places.get(name)))
        else:
            found[name] = adapter
    if lost:
        raise Refused(lost)
    return found


def known() -> list[str]:
    """Names of all adapters there are, sorted; imports none."""
    return sorted({*MODULES, *(point.name for point in importlib.metadata.entry_points(group=GROUP))})


def _own(name: str) -> Adapter | None:
    module = MODULES.get(name)
    return None if module is None else _adapter(importlib.import_module(module).ADAPTER)


def _foreign(name: str) -> Adapter | None:
    """The adapter of another package: an entry point that names an `Adapter`, or a module that has one as `ADAPTER`."""
    for point in importlib.metadata.entry_points(group=GROUP, name=name):
        loaded = point.load()
        return _adapter(getattr(loaded, "ADAPTER", loaded))
    return None


def _adapter(value: object) -> Adapter | None:
    return value if isinstance(value, Adapter) else None


def _unknown(name: str, place: Place | None) -> Diagnostic:
    names = known()
    like = nearest(name, names)
    return Diagnostic(
        code="unknown-adapter",
        message=f"no adapter is named `{name}`",
        place=place,
        help=f"did you mean `{like}`?" if like else f"there are {', '.join(f'`{each}`' for each in names)}",
    )
