"""Flags from what a program prints for `--help`, where it is written in Go, Rust or C++, or read by click.

Styles: `go` (its `flag` package, and pflag's), `rust` (clap), `tclap` (Envoy), `click` (TensorRT-LLM). Help says less
than a parser: what it does not say is taken as text.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from launcher.execute.conversion import Converted
from launcher.model.catalogue import Catalogue, Flag
from launcher.model.grammar import Grammar


class Entry(NamedTuple):
    """Spellings, the word that stands for the value (empty: none), the text that explains, and what switches it off."""

    spellings: tuple[str, ...]
    value: str
    about: str
    negatives: tuple[str, ...] = ()


_PFLAG = re.compile(r"^ {2,6}(?:(-\w), )?(--[\w.-]+)(?: (\S+))?(?: {2,}(.*))?$")
_GO = re.compile(r"^ {2}(-[\w.-]+)(?: (\S+))?(?:\t(.*))?$")
_CLAP = re.compile(r"^ {2,8}(?:(-\w), )?(--[\w-]+)(?:[ =]<([\w-]+)>(\.\.\.)?)?(?: {2,}(.*))?$")
_TCLAP = re.compile(r"^ {3}((?:-\w+(?: <[^>]+>)?, +)?--[\w-]+(?: <[^>]+>)?)( +\(accepted multiple times\))?$")
_CLICK = re.compile(
    r"^ {2}((?:-\w, )?--[\w-]+(?:, --?[\w-]+)*)(?: / (--[\w-]+))?(?: (\[\S+\]|[A-Z_]+(?: RANGE)?))?(?: {2,}(.*))?$"
)
_LEAST = re.compile(r"\[x>=(\d+)\]")
_GOING = re.compile(r"\(deprecated\)|^\W*deprecated\b|\b(?:is|been) deprecated\b", re.IGNORECASE)
_OFTEN = "(accepted multiple times)"
_LEAVING = {"--help", "-h", "--version", "-V", "-help", "--ignore_rest"}

KINDS: Mapping[str, Mapping[str, Any]] = {
    **{word: {"kind": "int"} for word in ("int", "int32", "int64", "uint", "uint32", "uint64", "uint32_t", "uint64_t")},
    **{word: {"kind": "int"} for word in ("INTEGER", "INTEGER RANGE")},
    **{word: {"kind": "float"} for word in ("float", "float32", "float64", "FLOAT", "FLOAT RANGE")},
    **{word: {"joined": ","} for word in ("strings", "stringSlice")},
    **{word: {"kind": "int", "joined": ","} for word in ("ints", "intSlice")},
    "stringArray": {"repeat": "append"},
    "duration": {"pattern": r"0|-?(?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+", "form": "a duration (`90s`, `1m30s`)"},
}
"""The word that stands for a value → what that means. Numbers of clap and text need none."""


def harvest(grammar: Grammar, version: str, text: str) -> Converted:
    """The catalogue in a help text. Raises ValueError where no flag is found in it."""
    style = grammar.help or "rust"
    entries = list(STYLES[style](text))
    flags = [_flag(grammar, style, entry) for entry in entries if not {*entry[0]} & _LEAVING]
    if not flags:
        raise ValueError(f"no flag is found in the help text of {grammar.name}, read as {style}")
    catalogue = Catalogue(
        program=grammar.name,
        version=version,
        flags={flag.name: flag for flag in flags if flag.name not in grammar.skip},
        source=f"`{grammar.name} --help`",
        folds=grammar.folds,
    )
    return Converted(catalogue, [])


def _flag(grammar: Grammar, style: str, entry: Entry) -> Flag:
    spellings, value, about, negatives = entry
    name = next((spelling for spelling in spellings if spelling.startswith("--")), spellings[0])
    facts: dict[str, Any] = {"kind": "bool"} if not value or value == "bool" else dict(KINDS.get(value, {}))
    if style == "go" and facts.get("kind") == "bool":
        # Go's switches are on or off by `=`; a word of its own is not looked at.
        facts["negatives"] = (f"{name}=false",)
    if negatives:
        facts["negatives"] = negatives
    if least := _LEAST.search(about):
        facts["minimum"] = int(least[1])
    if choices := _choices(about) or _bracketed(value):
        facts["choices"] = choices
    if _OFTEN in about:
        facts["repeat"] = "append"
    if _GOING.search(about):
        facts["deprecated"] = True
    if name in grammar.apart or "*" in grammar.apart:
        facts["apart"] = facts.get("kind") != "bool"
    facts |= grammar.flags[name].facts() if name in grammar.flags else {}
    return Flag(name, (name, *(each for each in spellings if each != name)), **facts)


def _choices(about: str) -> tuple[str, ...]:
    found = re.search(r"\[possible values: ([^\]]+)\]", about)
    return tuple(sorted(word.strip() for word in found[1].split(","))) if found else ()


def _bracketed(value: str) -> tuple[str, ...]:
    """`[a|b]` as click has choices."""
    return tuple(sorted(value[1:-1].split("|"))) if value.startswith("[") and "|" in value else ()


def _blocks(text: str, start: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str]]:
    """Each line that begins a flag, with all that follows it up to the next."""
    found: re.Match[str] | None = None
    about: list[str] = []
    for line in text.splitlines():
        match = start.match(line)
        if match:
            if found:
                yield found, " ".join(about)
            found, about = match, []
        elif found:
            about.append(line.strip())
    if found:
        yield found, " ".join(about)


def _go(text: str) -> Iterator[Entry]:
    for match, about in _blocks(text, _PFLAG):
        short, name, value, first = match.groups()
        yield Entry((name, *((short,) if short else ())), value or "", f"{first or ''} {about}")
    for match, about in _blocks(text, _GO):
        name, value, first = match.groups()
        yield Entry((f"-{name}", name), value or "", f"{first or ''} {about}")


def _rust(text: str) -> Iterator[Entry]:
    for match, about in _blocks(text, _CLAP):
        short, name, value, _, first = match.groups()
        yield Entry((name, *((short,) if short else ())), value or "", f"{first or ''} {about}")


def _tclap(text: str) -> Iterator[Entry]:
    for match, about in _blocks(text, _TCLAP):
        words = match[1].split(",")
        spellings = tuple(word.split()[0] for word in words)
        value = re.search(r"<([^>]+)>", match[1])
        yield Entry(spellings, value[1] if value else "", f"{match[2] or ''} {about}")


def _click(text: str) -> Iterator[Entry]:
    for match, about in _blocks(text, _CLICK):
        names, off, value, first = match.groups()
        yield Entry(tuple(names.split(", ")), value or "", f"{first or ''} {about}", (off,) if off else ())


STYLES: Mapping[str, Callable[[str], Iterator[Entry]]] = {"go": _go, "rust": _rust, "tclap": _tclap, "click": _click}
"""Style of a help text → what reads it."""
