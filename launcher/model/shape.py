"""Whether a table has the shape its model wants, and what is said of it where not: pydantic finds, we speak."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from launcher.model.recipe import Table
from launcher.model.value import SAID, kind
from launcher.text.diagnostic import Diagnostic, Place
from launcher.text.document import KeyPath, dotted
from launcher.text.suggest import Suggestions, nearest

Where = Callable[[KeyPath, Literal["key", "value"]], Place]
"""Where a key path of the table was written."""

T = TypeVar("T", bound=Table)

_SYNONYMS: Mapping[str, str] = {
    "kind": "manifest",
    "manifest": "kind",
    "environment": "env",
    "container": "image",
    "args": "flags",
    "arguments": "flags",
    "count": "replicas",
    "alias": "reference",
    "model_name": "served_name",
    "placement": "on",
    "gpu_count": "gpus",
    "gpus_per_node": "gpus",
    "mem": "memory",
    "time_limit": "time",
    "walltime": "time",
    "worker": "roles.worker",
    "prefill": "roles.prefill",
    "decode": "roles.decode",
}
"""What a key is called elsewhere, and here."""

_TYPES: Mapping[str, tuple[str, str]] = {
    "string_type": ("a string", '"…"'),
    "int_type": ("an integer", "1"),
    "bool_type": ("`true` or `false`", "true"),
    "float_type": ("a number", "1.0"),
    "list_type": ("an array", "[…]"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), ("a table", "{ … }")),
}
"""What is wanted, and how it is written."""

_BOUNDS = {"ge": "{} or more", "gt": "more than {}", "le": "{} or less"}

_LIMITS: Mapping[str, tuple[str, str]] = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
}


def read(
    model: type[T], data: Mapping[str, Any], where: Where, suggestions: Suggestions
) -> tuple[T | None, list[Diagnostic]]:
    """`data` as a `model`, or None and everything that is wrong with it."""
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        found = error.errors(include_url=False)
    return None, [_diagnose(model, item, where, suggestions) for item in found]


def _diagnose(model: type[Table], error: ErrorDetails, where: Where, suggestions: Suggestions) -> Diagnostic:
    path: KeyPath = error["loc"]
    if path and path[-1] == "[key]":
        return _wrong(model, error, path[:-1], where(path[:-1], "key"), ())
    if error["type"] == "extra_forbidden":
        return _unknown(model, path, where, suggestions)
    if error["type"] == "missing":
        return _missing(model, path, where)
    described = purpose(model, path)
    return _wrong(model, error, path, where(path, "value"), (described,) if described else ())


def _unknown(model: type[Table], path: KeyPath, where: Where, suggestions: Suggestions) -> Diagnostic:
    key, known = str(path[-1]), _keys(_annotation(model, path[:-1])[0])
    found = _synonym(key, known) or suggestions.nearest(key, known)
    help_ = f"did you mean `{found}`?" if found else f"{_table(path[:-1])} takes {_listed(known)}"
    return Diagnostic("unknown-key", f"unknown key `{key}`{_inside(path[:-1])}", where(path, "key"), help=help_)


def _missing(model: type[Table], path: KeyPath, where: Where) -> Diagnostic:
    key = str(path[-1])
    message = f"`{key}` is missing{_inside(path[:-1])}"
    # A whole document has no line of its own: where the key may be written is its first.
    place = where(path[:-1], "key") if path[:-1] else replace(where((), "value"), offset=0)
    if path == ("schema",):
        return Diagnostic("missing-key", message, place, help="write `schema = 1` on the first line")
    described = purpose(model, path)
    return Diagnostic(
        "missing-key",
        message,
        place,
        notes=(described,) if described else (),
        help=f"add `{key} = …`",
    )


def _wrong(model: type[Table], error: ErrorDetails, path: KeyPath, place: Place, notes: tuple[str, ...]) -> Diagnostic:
    value, context, name = error["input"], error.get("ctx", {}), dotted(path[-2:] if _item(path) else path[-1:])
    code, help_ = "wrong-value", None
    if error["type"] in _TYPES:
        code, (wanted, form) = "wrong-type", _TYPES[error["type"]]
        phrase = f"must be {wanted}, not {kind(value)}"
        help_ = _rewritten(error["type"], value, name) or f"write `{name} = {form}`"
    elif error["type"] == SAID:
        phrase, help_ = context["phrase"], context["help"] or None
    elif error["type"] in _LIMITS:
        words, bound = _LIMITS[error["type"]]
        phrase, help_ = f"must be {words} {context[bound]}, not {value}", _within(model, path)
    elif error["type"] == "literal_error":
        phrase, help_ = _literal(context["expected"], value, name)
    else:
        phrase = "must not be empty" if error["type"] == "string_too_short" else f"cannot be {kind(value)} like this"
    return Diagnostic(code, f"`{name}` {phrase}", place, notes=notes, help=help_)


def _literal(expected: str, value: object, name: str) -> tuple[str, str]:
    """Pydantic lists what it expects as `'a', 'b' or 'c'`."""
    words = expected.replace(" or ", ", ").split(", ")
    names = [word.strip("'") for word in words]
    shown = f"`{value}`" if isinstance(value, (str, int)) and not isinstance(value, bool) else kind(value)
    found = nearest(value, names) if isinstance(value, str) else None
    first = words[0].replace("'", '"')
    help_ = (
        f"did you mean `{found}`?" if found else f"write `{name} = {first}`{', or another of them' * (len(words) > 1)}"
    )
    return f"must be {_listed(names, 'or')}, not {shown}", help_


def _within(model: type[Table], path: KeyPath) -> str:
    """What the numbers are between which the one at `path` has to be."""
    marks = [*_marks(_annotation(model, path)[0])]
    bounds = {key: getattr(mark, key) for key in _BOUNDS for mark in marks if hasattr(mark, key)}
    if "ge" in bounds and "le" in bounds:
        return f"use {bounds['ge']} to {bounds['le']}"
    return f"use {' and '.join(_BOUNDS[key].format(bound) for key, bound in bounds.items())}"


def _marks(annotation: Any) -> Iterator[Any]:
    """What is said of a type beside it, as pydantic and `annotated_types` have it."""
    for each in get_args(annotation):
        yield from getattr(each, "metadata", (each,))
        yield from _marks(each)


_WHOLE = re.compile(r"0*([0-9]+?)(?:\.0)?")
"""Text of a whole number; what it holds is without the zeros in front that TOML does not take."""


def _rewritten(wanted: str, value: object, name: str) -> str | None:
    """The assignment as it was perhaps meant."""
    if wanted == "string_type" and isinstance(value, (bool, int, float)):
        return f'quote it: `{name} = "{str(value).lower()}"`'
    if wanted == "int_type" and isinstance(value, (str, float)) and (number := _WHOLE.fullmatch(str(value))):
        return f"write `{name} = {number[1]}`"
    if wanted == "bool_type" and str(value).lower() in ("true", "false"):
        return f"write `{name} = {str(value).lower()}`"
    if wanted == "list_type" and isinstance(value, str):
        return f"write `{name} = [{_quoted(value)}]`"
    if wanted.startswith("model") and name.startswith("mounts["):
        return 'write `{ source = "/on/the/host", target = "/in/the/container" }`'
    return None


def _quoted(value: str) -> str:
    return f"'{value}'" if '"' in value or "\\" in value else f'"{value}"'


def _item(path: KeyPath) -> bool:
    return bool(path) and isinstance(path[-1], int)


def _inside(path: KeyPath) -> str:
    return f" in {_table(path)}" if path else ""


def _table(path: KeyPath) -> str:
    if not path:
        return "the file"
    return f"`{dotted(path)}`" if any(isinstance(part, int) for part in path) else f"`[{dotted(path)}]`"


def _listed(names: list[str], last: str = "and") -> str:
    words = [f"`{name}`" for name in names]
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _synonym(key: str, known: list[str]) -> str | None:
    found = _SYNONYMS.get(key, "")
    return found if found.partition(".")[0] in known else None


def _keys(annotation: Any) -> list[str]:
    return [
        field.alias or name
        for option in _options(annotation)
        if isinstance(option, type) and issubclass(option, Table)
        for name, field in option.model_fields.items()
    ]


def default(model: type[Table], path: KeyPath) -> Any:
    """What a key of the model is where nobody sets it. Raises KeyError for one that has no default, or is none."""
    for option in _options(_annotation(model, path[:-1])[0]):
        if isinstance(option, type) and issubclass(option, Table):
            for name, field in option.model_fields.items():
                if (field.alias or name) == path[-1] and not field.is_required():
                    return field.get_default(call_default_factory=True, validated_data={})
    raise KeyError(path[-1])


def purpose(model: type[Table], path: KeyPath) -> str:
    """A note that says what the key is for; empty for an item of a list or table."""
    description = _annotation(model, path)[1]
    return f"`{path[-1]}`: {description}" if description and path else ""


def _annotation(model: type[Table], path: KeyPath) -> tuple[Any, str]:
    """Type and description of what stands at `path` of a model; None for what it does not know."""
    annotation: Any = model
    description = ""
    for part in path:
        annotation, description = next(_steps(annotation, part), (None, ""))
    return annotation, description


def _steps(annotation: Any, part: str | int) -> Iterator[tuple[Any, str]]:
    for option in _options(annotation):
        if isinstance(option, type) and issubclass(option, Table):
            for name, field in option.model_fields.items():
                if (field.alias or name) == part:
                    # pydantic takes what is said beside a type off it; `None`, since something has to be said.
                    yield Annotated[field.annotation, *field.metadata, None], field.description or ""
        elif get_origin(option) in (dict, list):
            yield get_args(option)[-1], ""


def _options(annotation: Any) -> Iterator[Any]:
    """The members of a union, annotations taken off."""
    if get_origin(annotation) is Annotated:
        yield from _options(get_args(annotation)[0])
    elif get_origin(annotation) in (dict, list) or not get_args(annotation):
        yield annotation
    else:
        for option in get_args(annotation):
            yield from _options(option)
