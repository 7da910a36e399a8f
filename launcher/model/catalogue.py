"""Flag catalogues: what one version of a program accepts, and how a TOML value becomes its words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from launcher.model.recipe import FlagValue

Kind = Literal["str", "int", "float", "bool", "json"]


@dataclass(frozen=True)
class Flag:
    """One flag. `name` is the canonical spelling with its dashes; `spellings` all positive ones.

    `kind` is the type of one value (`bool`: takes no value); `arity` is argparse's nargs (`None` one
    value, an int, `?`, `*`, `+`); `repeat` says what giving it twice does; `negative` is the spelling
    that switches it off. `joined` is the separator where the program wants a list as one word.
    `choices` is closed unless `open_choices`.
    """

    name: str
    spellings: tuple[str, ...]
    kind: Kind
    arity: int | Literal["?", "*", "+"] | None = None
    repeat: Literal["last", "append", "extend"] = "last"
    negative: str | None = None
    joined: str | None = None
    choices: tuple[str, ...] = ()
    open_choices: bool = False
    minimum: int | None = None


@dataclass(frozen=True)
class Catalogue:
    """The flags of one version of a program; `exclusive` are groups of which one may be given."""

    program: str
    version: str
    flags: Mapping[str, Flag]
    exclusive: tuple[tuple[str, ...], ...] = ()

    def find(self, key: str) -> Flag | None:
        """The flag a recipe means by `key` (no dashes in front; kebab or snake case as the program takes)."""
        raise NotImplementedError

    def suggest(self, key: str) -> str | None:
        """The nearest key, spelt as a recipe would, or None."""
        raise NotImplementedError


def words(flag: Flag, value: FlagValue) -> list[str]:
    """Command-line words for `flag` with `value`, exact to the byte. The value must have passed `faults`."""
    raise NotImplementedError


def faults(flag: Flag, value: FlagValue) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What is wrong with `value`: (path inside the value, lower-case phrase)."""
    raise NotImplementedError
