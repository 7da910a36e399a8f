"""What a program's argparse parser told about itself (`inside.dump`), as a flag catalogue."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from launcher.model.catalogue import Catalogue, Flag
from launcher.model.grammar import Grammar, Reading

BUILT_IN: Mapping[str, Mapping[str, Any]] = {
    "str": {},
    "int": {"kind": "int"},
    "float": {"kind": "float"},
    "json.loads": {"kind": "json"},
    "str.lower": {"folded": True},
    # Every text but the empty one is true to Python.
    "bool": {"kind": "any"},
}
"""What argparse is given as the type of a flag → what that means, in every program."""

LEAVING = ("_HelpAction", "_VersionAction")
REPEATS: Mapping[str, str] = {"_AppendAction": "append", "_ExtendAction": "extend"}


class Converted(NamedTuple):
    """A catalogue, and the flags whose values it takes as they are, since nobody knows what their readers take."""

    catalogue: Catalogue
    unread: Sequence[str]


def convert(grammar: Grammar, version: str, raw: Mapping[str, Any], source: str) -> Converted:
    """The catalogue in what `dump` printed."""
    grammar = grammar.of(version)
    asked = [action for action in raw["actions"] if action["spellings"] and action["action"] not in LEAVING]
    types = _types(grammar, raw)
    flags = [flag for action in asked if (flag := _flag(grammar, action, raw)).name not in grammar.skip]
    catalogue = Catalogue(
        program=grammar.name,
        version=version,
        flags={flag.name: flag for flag in flags},
        exclusive=tuple(tuple(group) for group in raw["exclusive"] if len(group) > 1),
        prefixes=raw["prefixes"],
        source=source,
        folds=grammar.folds,
        dotted=grammar.dotted,
        types={name: types[name] for name in sorted(_used([flag.shape for flag in flags], types))},
    )
    return Converted(_glued(grammar, catalogue), [flag.name for flag in flags if flag.kind == "any"])


def _glued(grammar: Grammar, catalogue: Catalogue) -> Catalogue:
    """The catalogue with the spellings that are glued to their values, for the flags that this version has."""
    found = {}
    for mark, keys in grammar.glued.items():
        first = next((key for key in keys if _has(catalogue, key)), None)
        if first is not None:
            found[mark] = first
    fields = {name: getattr(catalogue, name) for name in catalogue.__dataclass_fields__}
    return Catalogue(**{**fields, "glued": found})


def _has(catalogue: Catalogue, key: str) -> bool:
    flag = catalogue.find(key)
    if flag is None or not flag.within:
        return flag is not None
    name = flag.shape["is"] if isinstance(flag.shape, dict) else ""
    return flag.within[0] in catalogue.types.get(name, {"fields": {}})["fields"]


def _flag(grammar: Grammar, action: Mapping[str, Any], raw: Mapping[str, Any]) -> Flag:
    negatives = _negatives(action)
    spellings = tuple(spelling for spelling in action["spellings"] if spelling not in negatives)
    # argparse's own order, but the first spelling of two dashes is the name people know.
    name = next((spelling for spelling in spellings if spelling.startswith("--")), spellings[0])
    facts: dict[str, Any] = {
        **_read(grammar, action["type"]),
        **_state(action),
        **{key: action[key] for key in ("minimum", "maximum") if action[key] is not None},
    }
    facts |= _listed(action, raw["known"].get(name), facts.get("also", ()))
    if action["nargs"] == 0:
        facts |= {"kind": "bool"}
    if grammar.dotted and action["ahead"] and facts.get("kind") == "json":
        facts |= {"whole": True}
    if name in grammar.apart:
        facts |= {"apart": True}
    facts |= grammar.flags[name].facts() if name in grammar.flags else {}
    return Flag(
        name=name,
        spellings=(name, *(spelling for spelling in spellings if spelling != name)),
        arity=facts.pop("arity", action["nargs"] or None),
        repeat=REPEATS.get(action["action"], "last"),  # type: ignore[arg-type]
        negatives=negatives,
        default=_default(action, facts),
        **facts,
    )


def _listed(action: Mapping[str, Any], known: Sequence[str] | None, also: Sequence[str]) -> dict[str, Any]:
    """Words that a flag takes: those it is closed to, or those that are known. Sorted: some come from sets.

    `also` are words that its reader makes into nothing, which then must be a choice itself: the word is none.
    """
    if action["choices"]:
        choices = {choice for choice in action["choices"] if choice is not None and choice not in also}
        return {"choices": tuple(sorted(choices)), "also": tuple(also) if None in action["choices"] else ()}
    words = known or action["metavar"]
    return {"known": tuple(sorted(words))} if words else {}


def _state(action: Mapping[str, Any]) -> dict[str, Any]:
    state = {key: action[key] for key in ("deprecated", "retired") if action[key]}
    return {**state, "instead": action["instead"]} if action["instead"] else state


def _default(action: Mapping[str, Any], facts: Mapping[str, Any]) -> Any:
    """The value a flag has where nobody gives it, in the recipe's words; None is nothing in both."""
    value = action["default"]
    off = facts.get("kind") == "bool" and value is False
    return None if off or value == "" or value == "==SUPPRESS==" else value


def _negatives(action: Mapping[str, Any]) -> tuple[str, ...]:
    """The spellings that switch a flag off: as its action says, else what `BooleanOptionalAction` itself takes."""
    if action["negatives"]:
        # The one that help shows comes first (vLLM 0.33 hides `--no-enable-…` behind `--disable-…`).
        return tuple(spelling for spelling in action["spellings"] if spelling in action["negatives"])
    if action["action"] != "BooleanOptionalAction":
        return ()
    return tuple(spelling for spelling in action["spellings"] if spelling.startswith("--no-"))


def _read(grammar: Grammar, reader: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the function or type that reads a flag's value takes; `any` where nobody knows."""
    if reader is None:
        return {}
    if "shape" in reader:
        return {"kind": "json", "shape": reader["shape"]}
    if reader["name"] in BUILT_IN:
        return dict(BUILT_IN[reader["name"]])
    reading = _reading(grammar, reader["name"])
    if reading is None:
        return {"kind": "any"}
    facts = reading.facts()
    if not reading.inner:
        return facts
    inner = _read(grammar, reader["of"][-1]) if reader.get("of") else {"kind": "any"}
    also = {"also": (*inner.get("also", ()), *facts["also"])} if "also" in facts else {}
    return {**inner, **facts, **also}


def _reading(grammar: Grammar, name: str) -> Reading | None:
    """What the grammar says of a reader, by its name with or without the module."""
    for known, reading in grammar.types.items():
        if name == known or name.endswith(f".{known}"):
            return reading
    return None


def _types(grammar: Grammar, raw: Mapping[str, Any]) -> dict[str, Any]:
    """The classes that JSON flags are read into, fields whose names the program lists opened to those."""
    types = {name: dict(entry, fields=dict(entry["fields"])) for name, entry in raw["types"].items()}
    for name, words in raw["known"].items():
        owner, _, field = name.partition(".")
        if words and owner in types and field in types[owner]["fields"]:
            types[owner]["fields"][field] = _opened(types[owner]["fields"][field], words)
    for name, entry in grammar.classes.items():
        if name in types or "fields" in entry:
            types[name] = _held(types.get(name, entry), entry)
    return types


def _held(own: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """A class with what the grammar adds, less what speaks of fields that this version does not have."""
    fields = {name: _added(wanted, entry.get("words", {}).get(name, ())) for name, wanted in own["fields"].items()}
    between = entry.get("with", {})
    here = {key: others for key, others in between.items() if {key.partition("=")[0], *others} <= fields.keys()}
    return {**own, "fields": fields, **({"with": here} if here else {})}


def _added(wanted: Any, words: Sequence[str]) -> Any:
    if isinstance(wanted, list):
        return [_added(each, words) for each in wanted]
    return {"word": [*wanted["word"], *words]} if isinstance(wanted, dict) and "word" in wanted else wanted


def _opened(wanted: Any, words: Sequence[str]) -> Any:
    if isinstance(wanted, list):
        return [_opened(each, words) for each in wanted]
    return {"open": sorted(words)} if wanted == "str" else wanted


def _used(shapes: Sequence[Any], types: Mapping[str, Any]) -> set[str]:
    """Names of the classes that `shapes` come to, those in their fields included."""
    found: set[str] = set()
    todo = list(shapes)
    while todo:
        for name in _named(todo.pop()):
            if name not in found:
                found.add(name)
                todo.append(types[name]["fields"])
    return found


def _named(shape: Any) -> Iterator[str]:
    if isinstance(shape, dict) and isinstance(shape.get("is"), str) and len(shape) == 1:
        yield shape["is"]
    elif isinstance(shape, dict):
        for inner in shape.values():
            yield from _named(inner)
    elif isinstance(shape, list):
        for inner in shape:
            yield from _named(inner)
