"""What changed in a program's flags from one version to another."""

from collections.abc import Iterator
from typing import Literal

from launcher.model.catalogue import Catalogue, Flag
from launcher.run.record import record

_TOLD = (
    *("kind", "arity", "repeat", "negatives", "choices", "known", "also", "suffixes", "minimum", "maximum"),
    *("form", "shape", "default"),
)


@record
class Change:
    """One flag that came, went, or takes something else; `what` says more of it in words."""

    kind: Literal["added", "removed", "changed"]
    key: str
    what: str = ""


def changes(old: Catalogue, new: Catalogue) -> Iterator[Change]:
    """Flags that went, each with what to use instead where that is known, then those that came, then the changed."""
    for flag in old.flags.values():
        if new.exactly(flag.key) is None:
            yield Change("removed", flag.key, f"use `{flag.instead.lstrip('-')}`" if flag.instead else "")
    for flag in new.flags.values():
        if old.exactly(flag.key) is None:
            yield Change("added", flag.key, takes(flag))
    for flag in new.flags.values():
        before = old.exactly(flag.key)
        if before is not None and before.name == flag.name:
            told = "; ".join(_differences(before, flag, old, new))
            if told:
                yield Change("changed", flag.key, told)


def _differences(before: Flag, after: Flag, old: Catalogue, new: Catalogue) -> Iterator[str]:
    for name in _TOLD:
        one, other = getattr(before, name), getattr(after, name)
        if isinstance(one, tuple) and isinstance(other, tuple):
            yield from _words(name, one, other)
        elif one != other:
            yield f"{name} {_shown(one)} → {_shown(other)}"
    if after.deprecated and not before.deprecated:
        yield "deprecated" + (f", use `{after.instead.lstrip('-')}`" if after.instead else "")
    yield from _fields(before, after, old, new)


def _words(name: str, one: tuple[str, ...], other: tuple[str, ...]) -> Iterator[str]:
    gone = [f"-{word or '``'}" for word in one if word not in other]
    come = [f"+{word or '``'}" for word in other if word not in one]
    if gone or come:
        yield f"{name} {' '.join((*gone, *come))}"


def _fields(before: Flag, after: Flag, old: Catalogue, new: Catalogue) -> Iterator[str]:
    """Fields of the class that a JSON flag is read into."""
    if isinstance(after.shape, dict) and "is" in after.shape and before.shape == after.shape:
        name = after.shape["is"]
        yield from _words("fields", tuple(old.types[name]["fields"]), tuple(new.types[name]["fields"]))


def _shown(value: object) -> str:
    return "nothing" if value is None else f"`{value}`"


def takes(flag: Flag) -> str:
    """What the flag takes, in a few words."""
    if flag.kind == "bool":
        return "a switch" + (f", off by `{flag.negatives[0].lstrip('-')}`" if flag.negatives else "")
    one = _NAMES[flag.kind]
    if flag.choices:
        one = "one of " + ", ".join(flag.choices)
    elif flag.form:
        one = flag.form
    elif isinstance(flag.shape, dict) and "is" in flag.shape:
        one = f"a table ({flag.shape['is']})"
    more = [f"`{word}`" for word in flag.also if word and word != "None"]
    more += [f"`16{flag.suffixes[0].split()[0]}`"] if flag.suffixes and flag.kind == "int" else []
    one = " or ".join((one, *more))
    if flag.joined is not None or flag.arity in ("*", "+") or isinstance(flag.arity, int):
        return f"a list: {one}"
    return f"{one}, may be repeated" if flag.repeat == "append" else one


_NAMES = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "json": "a table",
    "mixed": "text or a table",
    "any": "anything",
}
