"""Questions an audit asks of the world, and their answers. Facts only refuse; they never change a plan."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Port:
    """Can this user listen on TCP port `number`?"""

    number: int


@dataclass(frozen=True)
class Variable:
    """Is the environment variable set in the submitting shell?"""

    name: str


@dataclass(frozen=True)
class Program:
    """Is `name` (a word, or a path) a program that can be run? `first` is a directory looked in before PATH."""

    name: str
    first: str | None = None


@dataclass(frozen=True)
class Module:
    """Can the interpreter `python` run `-m name`?"""

    python: str
    name: str


@dataclass(frozen=True)
class Syntax:
    """Is `text` shell that bash can parse?"""

    text: str


@dataclass(frozen=True)
class Folder:
    """Where does this user keep the launcher's files of a kind? The answer's text is the path."""

    kind: Literal["config", "data"]


Question = Port | Variable | Program | Module | Syntax | Folder


@dataclass(frozen=True)
class Answer:
    """`yes`, or not and `text` says what was found instead; `where` says where it was looked for."""

    yes: bool
    text: str = ""
    where: str = "this machine"


Facts = Mapping[Question, Answer]
