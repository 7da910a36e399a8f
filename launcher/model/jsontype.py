"""Types of JSON values as flag catalogues write them, and what is wrong with a value.

A type is `"str"`, `"int"`, `"float"`, `"bool"`, `"none"` or `"any"`; a list of types, any of which will do; or one of

    {"one": [words]}            one of these words (or numbers)
    {"word": [words]}           one of these words, in any case, dashes as underscores
    {"open": [words]}           text; these are known, and there may be more
    {"list": TYPE}              an array
    {"map": TYPE}               an object of any keys
    {"int": [least, most]}      a number with bounds, included; `{"float": …}` likewise
    {"is": NAME}                an object of the class `types[NAME]`

A class is `fields` with their types, those it `needs`, what becomes of `more` (`refused`, `ignored` or `kept`) and
under `with`, for a field (or `field=value`), which others must stand beside it, with which values (none: any).

Values are read as pydantic reads JSON (`validate_json`, not strict): text that spells a number is one.
"""

import datetime as dt
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

Path = tuple[str | int, ...]
Types = Mapping[str, Any]


class Fault(NamedTuple):
    """What is wrong with a value: `path` inside it, a predicate (`wants …`), and what to write instead.

    `part` says whether the key or the value at `path` is wrong; of the words `among`, one was probably meant by
    `word`; a fault that is not `sure` holds only if the program has no plugins that add to what is known.
    """

    path: Path
    phrase: str
    help: str | None = None
    part: Literal["key", "value"] = "value"
    among: Sequence[str] = ()
    word: str = ""
    sure: bool = True


def mismatch(types: Types, wanted: Any, value: Any, path: Path = ()) -> Iterator[Fault]:
    """Everything in `value` that is not of the type `wanted`."""
    options = wanted if isinstance(wanted, list) else [wanted]
    found: list[list[Fault]] = []
    for option in options:
        faults = list(_option(types, option, value, path))
        if not any(fault.sure for fault in faults):
            yield from faults
            return
        found.append(faults)
    yield from _best(options, found, value, path)


def _best(options: Sequence[Any], found: Sequence[list[Fault]], value: Any, path: Path) -> Iterator[Fault]:
    """The faults that tell most: those inside the one option of the value's own form, else that no option fits."""
    pairs = [(option, faults) for option, faults in zip(options, found, strict=True) if option != "none"]
    inside = pairs if len(pairs) == 1 else [pair for pair in pairs if _form(pair[0]) is type(value)]
    if len(inside) == 1:
        yield from inside[0][1]
    else:
        among = tuple(str(word) for option in options for word in _words(option))
        names = [_named(option) for option, _ in pairs]
        word = value if isinstance(value, str) else ""
        yield Fault(path, f"wants {' or '.join(dict.fromkeys(names))}, not {_shown(value)}", among=among, word=word)


def _form(option: Any) -> type | None:
    """The Python type of values that only this kind of option could be meant for."""
    if not isinstance(option, dict):
        return None
    (key,) = option
    return {"is": dict, "map": dict, "list": list, "one": str, "word": str, "open": str}.get(key)


def _words(option: Any) -> Sequence[Any]:
    words: Mapping[str, Sequence[Any]] = option if isinstance(option, dict) else {}
    return words.get("one", words.get("word", ()))


def _option(types: Types, option: Any, value: Any, path: Path) -> Iterator[Fault]:
    if isinstance(option, str):
        if not _PLAIN[option](value):
            yield Fault(path, f"wants {_NAMES[option]}, not {_shown(value)}")
        return
    ((form, inner),) = option.items()
    yield from _FORMS[form](types, inner, value, path)


def _one(types: Types, inner: Any, value: Any, path: Path) -> Iterator[Fault]:
    if not any(value == word and type(value) is type(word) for word in inner):
        yield _unknown(inner, value, path, sure=True)


def _word(types: Types, inner: Any, value: Any, path: Path) -> Iterator[Fault]:
    if not isinstance(value, str) or value.lower().replace("-", "_") not in inner:
        yield _unknown(inner, value, path, sure=True)


def _open(types: Types, inner: Any, value: Any, path: Path) -> Iterator[Fault]:
    if not isinstance(value, str):
        yield Fault(path, f"wants a string, not {_shown(value)}")
    elif value not in inner:
        yield _unknown(inner, value, path, sure=False)


def _unknown(known: Sequence[Any], value: Any, path: Path, *, sure: bool) -> Fault:
    words = tuple(str(word) for word in known)
    phrase = f"knows no `{value}`" if not sure else f"has no choice {_shown(value)}"
    return Fault(path, phrase, among=words, word=value if isinstance(value, str) else "", sure=sure)


def _list(types: Types, inner: Any, value: Any, path: Path) -> Iterator[Fault]:
    if not isinstance(value, list):
        yield Fault(path, f"wants a list, not {_shown(value)}")
        return
    for index, item in enumerate(value):
        yield from mismatch(types, inner, item, (*path, index))


def _map(types: Types, inner: Any, value: Any, path: Path) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield Fault(path, f"wants a table, not {_shown(value)}")
        return
    for key, item in value.items():
        yield from mismatch(types, inner, item, (*path, key))


def _is(types: Types, inner: Any, value: Any, path: Path) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield Fault(path, f"wants a table, not {_shown(value)}")
        return
    known = types[inner]
    for key, item in value.items():
        if key in known["fields"]:
            yield from mismatch(types, known["fields"][key], item, (*path, key))
        elif known["more"] != "kept":
            yield _strange(known, key, path)
    for key in known["needs"]:
        if key not in value:
            yield Fault(path, f"lacks the field `{key}`")
    yield from _together(known.get("with", {}), value, path)


def _together(between: Mapping[str, Any], value: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    for condition, others in between.items():
        key, _, wanted = condition.partition("=")
        if value.get(key) and wanted in ("", value[key]):
            yield from _beside(others, key, value, path)


def _strange(known: Mapping[str, Any], key: str, path: Path) -> Fault:
    # Where it is only ignored the program starts, and does not do what was asked for.
    ignored = known["more"] == "ignored"
    phrase = f"has no field `{key}`{', and ignores it' * ignored}"
    return Fault((*path, key), phrase, part="key", among=tuple(known["fields"]), word=key, sure=not ignored)


def _beside(others: Mapping[str, Sequence[Any]], key: str, value: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    for other, allowed in others.items():
        given = value.get(other)
        if given is None or (allowed and given not in allowed):
            words = " or ".join(f"`{word}`" for word in allowed)
            wanted = f"`{other}`" + (f" {words}" if allowed else "")
            yield Fault((*path, key), f"needs {wanted} beside it", part="key")


def _bounded(name: str) -> Callable[[Types, Any, Any, Path], Iterator[Fault]]:
    def bounded(types: Types, inner: Any, value: Any, path: Path) -> Iterator[Fault]:
        least, most = inner
        if not _PLAIN[name](value):
            yield Fault(path, f"wants {_NAMES[name]}, not {_shown(value)}")
        elif least is not None and float(value) < least:
            yield Fault(path, f"wants {least} or more, not {value}")
        elif most is not None and float(value) > most:
            yield Fault(path, f"wants {most} or less, not {value}")

    return bounded


_FORMS: Mapping[str, Callable[[Types, Any, Any, Path], Iterator[Fault]]] = {
    "one": _one,
    "word": _word,
    "open": _open,
    "list": _list,
    "map": _map,
    "is": _is,
    "int": _bounded("int"),
    "float": _bounded("float"),
}
_TRUTHS = frozenset(["0", "1", "f", "t", "n", "y", "no", "yes", "off", "on", "false", "true"])
_INTEGER = r"\s*[-+]?[0-9]+(?:_[0-9]+)*(?:\.0+)?\s*"


def _integer(value: Any) -> bool:
    if isinstance(value, str):
        return re.fullmatch(_INTEGER, value) is not None
    if isinstance(value, float):
        # pydantic takes no float that an i64 cannot hold.
        return math.isfinite(value) and value == int(value) and abs(value) < 2**63
    return isinstance(value, int)


def _number(value: Any) -> bool:
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return False
        return True
    return isinstance(value, int | float)


def _truth(value: Any) -> bool:
    if isinstance(value, str):
        return value.lower() in _TRUTHS
    return isinstance(value, bool) or (isinstance(value, int | float) and value in (0, 1))


_PLAIN: Mapping[str, Callable[[Any], bool]] = {
    "any": lambda value: True,
    "str": lambda value: isinstance(value, str),
    "int": _integer,
    "float": _number,
    "bool": _truth,
    "none": lambda value: value is None,
}
_NAMES: Mapping[str, str] = {
    "any": "anything",
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "`true` or `false`",
    "none": "nothing",
    "one": "one of its choices",
    "word": "one of its choices",
    "open": "a string",
    "list": "a list",
    "map": "a table",
    "is": "a table",
}


def _named(option: Any) -> str:
    if isinstance(option, str):
        return _NAMES[option]
    ((form, inner),) = option.items()
    if form in ("one", "word") and len(inner) <= 6:
        return " or ".join(f"`{word}`" for word in inner)
    return _NAMES[form]


def unjson(path: Path, item: Any) -> Iterator[Fault]:
    """What in a TOML value has no form in JSON."""
    if isinstance(item, dict):
        for key, inner in item.items():
            yield from unjson((*path, key), inner)
    elif isinstance(item, list):
        for index, inner in enumerate(item):
            yield from unjson((*path, index), inner)
    elif isinstance(item, dt.date | dt.time) or (isinstance(item, float) and not math.isfinite(item)):
        yield Fault(path, f"wants JSON, and {kind(item)} has no form there", "write it as a string")


def kind(value: Any) -> str:
    """What people call a TOML value, with its article."""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, float) and not math.isfinite(value):
        return f"`{value}`"
    for python, name in _CALLED:
        if isinstance(value, python):
            return name
    return "this"


def _shown(value: Any) -> str:
    if isinstance(value, str) and 0 < len(value) <= 40 and value.isprintable():
        return f"`{value}`"
    return f"{value}" if isinstance(value, int | float) and not isinstance(value, bool) else kind(value)


_CALLED: Sequence[tuple[type, str]] = (
    (str, "a string"),
    (int, "a whole number"),
    (float, "a fraction"),
    (list, "a list"),
    (dict, "a table"),
    (dt.datetime, "a date"),
    (dt.date, "a date"),
    (dt.time, "a time"),
)
