"""Kinds of values that TOML has no type for: names, flag values, durations, sizes of memory.

Each has one test, which raises with words of our own, and the JSON Schema that says the same.
"""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from launcher.model import duration, sitepath, size, timelimit

SAID = "said"
"""Type of a pydantic error whose context has our own phrase as `phrase`, and perhaps a `help`."""

FlagValue = bool | int | float | str | list[Any] | dict[str, Any]
"""A TOML value; the flag catalogue of the program says which kinds its flags take."""

NAME = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"
ROLE = "^(?!(router|benchmark)$)(?!.*-[0-9]+$)[a-z][a-z0-9_-]{0,30}$"
PORT = "^[a-z][a-z0-9_]{0,30}$"
RESERVED = {"router": "write `[router]`, and `kind` for `manifest`", "benchmark": "write `[benchmark]`"}

FLAG_MARK = {"$comment": "any TOML value but dates and times"}
"""Stands in a JSON Schema for a flag's value, until `schema` puts a reference to the definition there."""


def said(phrase: str, hint: str = "") -> PydanticCustomError:
    """An error with a phrase that follows the name of the key: "must be …"."""
    # The template is constant: a brace in the phrase is then no placeholder.
    return PydanticCustomError(SAID, "{phrase}", {"phrase": phrase, "help": hint})


def kind(value: object) -> str:
    """What TOML calls a value, with its article."""
    for known, words in _KINDS:
        if isinstance(value, known):
            return words
    return "a date or time"


_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "a boolean"),
    (int, "an integer"),
    (float, "a float"),
    (str, "a string"),
    (list, "an array"),
    (dict, "a table"),
)


def _flag(value: Any) -> FlagValue:
    """Everything TOML has but dates and times, at any depth."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
        elif not isinstance(item, (bool, int, float, str)):
            raise said("must not be a date or time", f'no flag takes one; quote it: `"{item}"`')
    found: FlagValue = value
    return found


def _configuration(value: Any) -> str | dict[str, Any]:
    if not isinstance(value, (str, dict)) or not value:
        shown = "nothing" if value in ("", {}) else kind(value)
        raise said(f"must be a table, or the name of a file, not {shown}")
    _flag(value)
    return value


def _matching(pattern: str, phrase: str) -> Callable[[str], str]:
    compiled = re.compile(pattern.removeprefix("^").removesuffix("$"))

    def test(value: str) -> str:
        if not compiled.fullmatch(value):
            raise said(phrase)
        return value

    return test


def _timeout(value: Any) -> str | int:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise said(f"must be a duration, not {kind(value)}", f"write {duration.FORMS}")
    try:
        duration.seconds(value)
    except ValueError as error:
        raise said(str(error), f"write {duration.FORMS}") from None
    return value


def _schema(value: Any) -> Literal[1]:
    if isinstance(value, bool) or not isinstance(value, int):
        raise said(f"must be `1`, not {kind(value)}", "write `schema = 1`")
    if value != 1:
        raise said(f"must be `1`, not `{value}`", "this version of the launcher reads no other")
    return 1


def _memory(value: str) -> str:
    try:
        size.mebibytes(value)
    except ValueError as error:
        raise said(str(error), f"write {size.FORMS}") from None
    return value


def _limit(value: Any) -> str:
    if not isinstance(value, str):
        whole = isinstance(value, int) and not isinstance(value, bool)
        raise said(f"must be a time limit, not {kind(value)}", f'write `"{value}m"` for minutes' if whole else _LIMITS)
    try:
        timelimit.seconds(value)
    except ValueError as error:
        found = timelimit.meant(value)
        raise said(str(error), f"did you mean `{found}`?" if found else _LIMITS) from None
    return value


_LIMITS = f"write {timelimit.FORMS}"


def _segment(value: Any) -> str | int:
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 1:
            raise said(f"must be at least 1, not {value}")
        return value
    if value not in ("role", "job"):
        shown = f"`{value}`" if isinstance(value, str) else kind(value)
        raise said(f'must be a number of nodes, `"role"` or `"job"`, not {shown}')
    return str(value)


def _path(value: str) -> str:
    try:
        return sitepath.test(value)
    except ValueError as error:
        raise said(str(error), "of variables `$USER` and `$HOME` are expanded") from None


def _printable(value: str) -> str:
    if not value:
        raise said("must not be empty")
    if len(value) > _LONG:
        raise said(f"must have at most {_LONG} characters, not {len(value)}")
    if not value.isprintable():
        shown = next(letter for letter in value if not letter.isprintable())
        raise said("must be one line of printable characters", f"U+{ord(shown):04X} in it is none")
    return value


_LONG = 1024
"""Characters of a model's name: it stands in one word of a command, in file names and labels of metrics."""


def _role(value: str) -> str:
    if value in RESERVED:
        raise said(f"is reserved: the {value} has a table of its own", RESERVED[value])
    return _ROLE_TEST(value)


_ROLE_TEST = _matching(
    "(?!.*-[0-9]+$)[a-z][a-z0-9_-]{0,30}",
    "must be at most 31 characters a-z 0-9 _ -, a letter first, no `-` and number last",
)


class Tested:
    """Annotation of a kind of value: `test` raises with words of ours or returns the value, `schema` says the same in
    JSON Schema. Where `raw`, the test is all; else the type was tested before.

    Pydantic's own validators do this too, but look at the signature of every function when a model is first used:
    as dear as all the rest of that.
    """

    def __init__(self, test: Callable[[Any], Any], schema: Mapping[str, Any], *, raw: bool = False) -> None:
        self._test, self._schema, self._raw = test, schema, raw

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if self._raw:
            return core_schema.no_info_plain_validator_function(self._test)
        return core_schema.no_info_after_validator_function(self._test, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        return dict(self._schema)


def _string(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern}


_NAME_TEST = _matching(NAME, "must be a name of at most 63 characters A-Z a-z 0-9 _ . -, a letter or digit first")
_PORT_TEST = _matching(PORT, "must be at most 31 characters a-z 0-9 _, a letter first")
_DURATION = {"type": "integer", "minimum": 1, "maximum": duration.LONGEST}
_FILE_OR_TABLE = [
    {"type": "string", "minLength": 1},
    {"type": "object", "minProperties": 1, "additionalProperties": FLAG_MARK},
]
_SEGMENT = [{"type": "integer", "minimum": 1}, {"enum": ["role", "job"]}]

Schema = Annotated[Literal[1], Tested(_schema, {"const": 1, "type": "integer"}, raw=True)]
FlagEntry = Annotated[FlagValue, Tested(_flag, FLAG_MARK, raw=True)]
Flags = dict[str, FlagEntry]
Configuration = Annotated[str | dict[str, Any], Tested(_configuration, {"anyOf": _FILE_OR_TABLE}, raw=True)]
Name = Annotated[str, Tested(_NAME_TEST, _string(NAME))]
RoleName = Annotated[str, Tested(_role, _string(ROLE))]
PortName = Annotated[str, Tested(_PORT_TEST, _string(PORT))]
Duration = Annotated[str | int, Tested(_timeout, {"anyOf": [_string(f"^{duration.PATTERN}$"), _DURATION]}, raw=True)]
Memory = Annotated[str, Tested(_memory, _string(f"^{size.PATTERN}$"))]
TimeLimit = Annotated[str, Tested(_limit, _string(f"^{timelimit.PATTERN}$"), raw=True)]
SitePath = Annotated[str, Tested(_path, _string(f"^{sitepath.PATTERN}$"))]
ModelName = Annotated[str, Tested(_printable, _string(f"^[^\\x00-\\x1f\\x7f]{{1,{_LONG}}}$"))]
Segment = Annotated[str | int, Tested(_segment, {"anyOf": _SEGMENT}, raw=True)]
