"""How a program reads its command line, and is made to tell its flags: `manifests/flags/PROGRAM/grammar.toml`."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import Field

from launcher.model.catalogue import numbers
from launcher.model.recipe import Table
from launcher.model.value import Schema


class Reading(Table):
    """What a flag takes, where its parser does not say so; keys as in a catalogue.

    `inner` is for a function made of another one (a closure): what that takes holds too.
    """

    kind: Literal["str", "int", "float", "bool", "json", "mixed", "any"] | None = None
    inner: bool = False
    arity: int | str | None = None
    joined: str | None = None
    folded: bool | None = None
    snake: bool | None = None
    minimum: int | None = None
    maximum: int | None = None
    also: list[str] | None = None
    known: list[str] | None = None
    choices: list[str] | None = None
    suffixes: list[str] | None = None
    pattern: str | None = None
    form: str | None = None
    shape: Any = None
    negatives: list[str] | None = None
    deprecated: bool | None = None
    retired: bool | None = None
    instead: str | None = None

    def facts(self) -> dict[str, Any]:
        """What is said, as the fields of a flag."""
        said = self.model_dump(exclude_none=True, exclude={"inner"})
        return {key: tuple(value) if isinstance(value, list) else value for key, value in said.items()}


class Older(Table):
    """What is otherwise in older versions; an entry takes the place of the whole entry."""

    types: dict[str, Reading] = Field(default={})
    flags: dict[str, Reading] = Field(default={})
    classes: dict[str, Any] = Field(default={})


class Build(Table):
    """How the program's argparse parser is built: the function `fill` is called with an instance of `class`."""

    class_: str = Field(default="argparse:ArgumentParser", alias="class", description="`module:name`")
    fill: str = Field(description="`module:name`, or `module:name.name`")


class Grammar(Table):
    """One program. Without `parser` and `module` its flags are read from what `--help` prints.

    The parser of a Python program is imported without what it serves with: modules that are not there are made up
    (see `execute.inside.stubs`).
    """

    schema_: Schema = Field(alias="schema", description="version of this format")
    name: str = Field(min_length=1, description="as the folder is named")
    like: list[str] = Field(default=[], description="other programs, whose lists and tables lie under these")
    distribution: str | None = Field(default=None, description="what pip calls it; it has the version")
    beside: list[str] = Field(default=[], description="what it runs, of the versions that its metadata pins")
    needs: list[str] = Field(default=[], description="what pip installs to import the parser of an unpacked wheel")
    whole: list[str] = Field(default=[], description="distributions whose data or compiled part has choices")
    parser: Build | None = Field(default=None, description="how its argparse parser is built")
    module: list[str] = Field(
        default=[], description="else: what `python -m` runs until it reads its arguments; or a function `module:name`"
    )
    app: str | None = Field(default=None, description="else: `module:name` of its cyclopts application")
    chain: int = Field(default=1, ge=1, description="parsers that read the command line one after another")
    set: dict[str, str] = Field(default={}, description="`module:variable` → the class or function that gives it")
    answers: dict[str, Any] = Field(default={}, description="what made-up names are; `name()` is what a function says")
    nothing: list[str] = Field(default=[], description="made-up names that are None")
    absent: list[str] = Field(default=[], description="names that are not made up")
    forced: list[str] = Field(default=[], description="modules that are made up though they are there")
    known: dict[str, list[str]] = Field(default={}, description="open flag or `Class.field` → where its words are")
    help: Literal["click", "getopt", "go", "rust", "tclap"] | None = Field(
        default=None, description="whose style its `--help` has"
    )
    prints: str | None = Field(default=None, description="what prints its `--help`; left out: its name")
    folds: bool = Field(default=False, description="underscores in names are dashes")
    dotted: bool = Field(default=False, description="`--flag.field` sets a field of a JSON flag")
    glued: dict[str, list[str]] = Field(default={}, description="`-O3` → keys it may stand for, the first there is")
    apart: list[str] = Field(default=[], description="flags whose value must be a word of its own; `*`: all")
    skip: list[str] = Field(default=[], description="flags that are none")
    types: dict[str, Reading] = Field(default={}, description="functions that read values → what they take")
    flags: dict[str, Reading] = Field(default={}, description="flags → what they take")
    classes: dict[str, Any] = Field(default={}, description="JSON classes, or what holds `with` their fields")
    before: dict[str, Older] = Field(default={}, description="version → what is otherwise in those older than it")

    def of(self, version: str) -> "Grammar":
        """The grammar of that version."""
        tables = {name: dict(getattr(self, name)) for name in Older.model_fields}
        for mark in sorted(self.before, key=numbers, reverse=True):
            if numbers(version) < numbers(mark):
                for name, entries in tables.items():
                    entries.update(getattr(self.before[mark], name))
        return self.model_copy(update=tables)


_OWN = (
    "schema",
    "name",
    "like",
    "distribution",
    "beside",
    "parser",
    "module",
    "app",
    "chain",
    "whole",
    "help",
    "prints",
)
"""Keys of a grammar that say nothing of another program."""


def complete(data: Mapping[str, Any], other: Callable[[str], Mapping[str, Any] | None]) -> Mapping[str, Any]:
    """A grammar's data with that of the programs it is `like` under it: tables merge, and so do lists.

    `other` gives the data of a program's grammar. Raises ValueError where it has none, or is like a third one.
    """
    whole: Mapping[str, Any] = {}
    like = data.get("like", ())
    for name in like if isinstance(like, list) else ():
        found = other(name) if isinstance(name, str) else None
        if found is None or "like" in found:
            why = "is itself like another program" if found else "has no grammar of its own"
            raise ValueError(f"`like`: `{name}` {why}")
        whole = _merged(whole, {key: value for key, value in found.items() if key not in _OWN})
    return _merged(whole, data)  # type: ignore[no-any-return]


def _merged(under: Any, over: Any) -> Any:
    if isinstance(under, Mapping) and isinstance(over, Mapping):
        both = {key: _merged(under[key], over[key]) for key in over if key in under}
        return {**under, **over, **both}
    return [*under, *(one for one in over if one not in under)] if isinstance(under, list) else over
