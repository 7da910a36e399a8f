"""What two plans have not in common. Both are JSON-ready data: one of them may be a run's, written long ago."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from launcher.run.record import record

SCHEMA = 1

GROUPS: Mapping[str, tuple[str, str]] = {
    "steps": ("step", "name"),
    "files": ("file", "path"),
    "endpoints": ("endpoint", "name"),
    "targets": ("target", "step"),
}
"""Key of a plan that holds several things → what one is called, and the field that names it."""

Change = tuple[Any, Any]
"""A value before and after; None where there is none."""


@record
class Group:
    """Things of one kind by name: those that only one plan has, and the fields of those that changed."""

    added: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    removed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    changed: Mapping[str, Mapping[str, Change]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


@record
class Difference:
    """`plan` has what changed of the plan as a whole; `groups` has one for each of `GROUPS`."""

    plan: Mapping[str, Change]
    groups: Mapping[str, Group]

    @property
    def equal(self) -> bool:
        """Whether there is none."""
        return not self.plan and not any(self.groups.values())


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> Difference:
    """From the plan `before` to the plan `after`; fields of a table are told apart (`env.HOME`, `ports.http`)."""
    old, new = ({key: value for key, value in plan.items() if key not in GROUPS} for plan in (before, after))
    groups = {key: _group(key, before.get(key, ()), after.get(key, ())) for key in GROUPS}
    return Difference(dict(_changes(old, new)), groups)


def data(found: Difference, before: str, after: str) -> dict[str, Any]:
    """The difference as one JSON-ready document; `before` and `after` name the plans."""
    return {
        "schema": SCHEMA,
        "before": before,
        "after": after,
        "equal": found.equal,
        "plan": _told(found.plan),
        **{
            key: {
                "added": list(group.added),
                "removed": list(group.removed),
                "changed": {name: _told(fields) for name, fields in group.changed.items()},
            }
            for key, group in found.groups.items()
        },
    }


def _told(fields: Mapping[str, Change]) -> dict[str, Any]:
    return {name: {"before": before, "after": after} for name, (before, after) in fields.items()}


def _group(key: str, before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Group:
    name = GROUPS[key][1]
    old, new = ({str(item[name]): item for item in items} for items in (before, after))
    changed = {each: dict(_changes(old[each], new[each])) for each in new if each in old}
    return Group(
        {each: item for each, item in new.items() if each not in old},
        {each: item for each, item in old.items() if each not in new},
        {each: fields for each, fields in changed.items() if fields},
    )


def _changes(before: Mapping[str, Any], after: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Change]]:
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if isinstance(old, Mapping) and isinstance(new, Mapping) and not path:
            yield from _changes(old, new, f"{key}.")
        else:
            yield f"{path}{key}", (old, new)
