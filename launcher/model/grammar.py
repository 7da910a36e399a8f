"""How a program reads its command line, and is made to tell its flags: `manifests/flags/PROGRAM/grammar.toml`."""

from typing import Any, Literal

from pydantic import Field

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
    distribution: str | None = Field(default=None, description="what pip calls it; it has the version")
    needs: list[str] = Field(default=[], description="what pip installs to import the parser of an unpacked wheel")
    compiled: bool = Field(default=False, description="choices come from the compiled part of the wheel")
    parser: Build | None = Field(default=None, description="how its argparse parser is built")
    module: list[str] = Field(
        default=[], description="else: what `python -m` runs until it reads its arguments; or a function `module:name`"
    )
    set: dict[str, str] = Field(default={}, description="`module:variable` → the class or function that gives it")
    answers: dict[str, Any] = Field(default={}, description="what made-up names are; `name()` is what a function says")
    nothing: list[str] = Field(default=[], description="made-up names that are None")
    absent: list[str] = Field(default=[], description="names that are not made up")
    forced: list[str] = Field(default=[], description="modules that are made up though they are there")
    known: dict[str, list[str]] = Field(default={}, description="open flag or `Class.field` → where its words are")
    help: Literal["go", "rust", "tclap"] | None = Field(default=None, description="whose style its `--help` has")
    folds: bool = Field(default=False, description="underscores in names are dashes")
    dotted: bool = Field(default=False, description="`--flag.field` sets a field of a JSON flag")
    glued: dict[str, list[str]] = Field(default={}, description="`-O3` → keys it may stand for, the first there is")
    apart: list[str] = Field(default=[], description="flags whose value must be a word of its own; `*`: all")
    skip: list[str] = Field(default=[], description="flags that are none")
    types: dict[str, Reading] = Field(default={}, description="functions that read values → what they take")
    flags: dict[str, Reading] = Field(default={}, description="flags → what they take")
    classes: dict[str, Any] = Field(default={}, description="JSON classes, or what holds `with` their fields")
