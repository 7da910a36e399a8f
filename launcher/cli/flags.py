"""`launch flags show|diff|harvest`: what programs take, what changed, and how a new version is learnt."""

import argparse
import fnmatch
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from launcher.cli import learn
from launcher.cli.guard import Usage
from launcher.cli.table import table
from launcher.cli.terminal import Terminal
from launcher.execute.library import Files
from launcher.model.catalogue import Catalogue, Flag, numbers
from launcher.model.change import changes, takes
from launcher.model.linking import table as table_of
from launcher.model.manifest import Difference


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Data on stdout, messages on stderr; the exit code is 0 unless something is refused."""
    if args.what == "harvest":
        return learn.run(args, terminal)
    of_harvest = ("wheel", "python", "help_text", "into", "again", "unlike")
    given = next((name for name in of_harvest if getattr(args, name)), None)
    if given:
        option = f"--{given.replace('_', '-')}"
        raise Usage(f"`{option}` is an option of `launch flags harvest`", advice="see `launch flags --help`")
    files = Files()
    if args.what == "diff":
        return _diff(files, args, terminal)
    if len(args.words) > 1:
        raise Usage(f"`{args.words[1]}` is one word too many", advice="see `launch flags --help`")
    catalogue = named(files, args.program)
    found = list(matching(catalogue, args.words[0])) if args.words else list(catalogue.flags.values())
    if not found:
        raise Usage(
            f"{catalogue.program} {catalogue.version} has no flag like `{args.words[0]}`",
            args.words[0],
            [flag.key for flag in catalogue.flags.values()],
            f"`launch flags show {catalogue.program}` lists all",
        )
    if args.json:
        terminal.say(_document(catalogue, {"flags": {flag.key: _told(flag) for flag in found}}))
        return 0
    terminal.say(detail(catalogue, found[0]) if len(found) == 1 else listed(found, color=terminal.color_out))
    terminal.note(f"{catalogue.program} {catalogue.version}: {len(found)} of {len(catalogue.flags)} flags")
    return 0


def named(files: Files, word: str) -> Catalogue:
    """The catalogue of `PROGRAM[@VERSION]`; without a version the newest. Raises Usage."""
    program, _, version = word.partition("@")
    versions = files.versions(program)
    if not versions:
        known = [name for name in files.catalogues.programs() if files.versions(name)]
        raise Usage(f"there is no flag catalogue of `{program}`", program, known, f"one of {', '.join(known)}")
    found = files.catalogue(program, version or versions[-1])
    if found is None:
        there = f"there are {', '.join(versions)}; `launch flags harvest {program} {version}` makes it"
        raise Usage(f"there is no flag catalogue of {program} {version}", version, versions, there)
    return found


def matching(catalogue: Catalogue, pattern: str) -> Iterator[Flag]:
    """The flag of that very name, else all with the pattern in one of their names: a part, or one with `*` and `?`."""
    bare = pattern.lstrip("-")
    exact = catalogue.find(bare) if catalogue.exactly(bare) or "." in bare else None
    if exact is not None:
        yield exact
        return
    whole = bare if any(mark in bare for mark in "*?[") else f"*{bare}*"
    loose = whole.replace("_", "-").lower()
    for flag in catalogue.flags.values():
        names = (spelling.lstrip("-").replace("_", "-").lower() for spelling in (*flag.spellings, *flag.negatives))
        if any(fnmatch.fnmatchcase(name, loose) for name in names):
            yield flag


def listed(flags: Iterable[Flag], *, color: bool) -> str:
    """A table of flags."""
    rows = [(flag.key, _others(flag), _short(takes(flag)), _shown(flag.default), _state(flag)) for flag in flags]
    return table(("flag", "or", "takes", "default", ""), rows, color=color)


def detail(catalogue: Catalogue, flag: Flag) -> str:
    """All that is known of one flag."""
    rows = [
        ("or", _others(flag)),
        ("off", " ".join(spelling.lstrip("-") for spelling in flag.negatives)),
        ("takes", takes(flag)),
        ("known", ", ".join(flag.known)),
        ("default", _shown(flag.default)),
        ("state", _state(flag)),
    ]
    lines = [flag.key, *(f"  {name:<8} {text}" for name, text in rows if text)]
    if isinstance(flag.shape, dict) and "is" in flag.shape and not flag.within:
        lines += ["  fields", *_fields(catalogue, flag.shape["is"])]
    return "\n".join(lines)


def _fields(catalogue: Catalogue, name: str) -> Iterator[str]:
    known = catalogue.types[name]["fields"]
    width = max(map(len, known), default=0)
    for field, wanted in known.items():
        yield f"    {field:<{width}}  {_kind(wanted)}"


def _kind(wanted: object) -> str:
    """A type of JSON in words."""
    if isinstance(wanted, list):
        return " or ".join(_kind(each) for each in wanted if each != "none")
    if not isinstance(wanted, dict):
        return str(wanted)
    ((form, inner),) = wanted.items()
    if form in ("one", "word", "open"):
        return ", ".join([*map(str, inner), *(["…"] if form == "open" else [])])
    if form in ("list", "map"):
        return f"{form} of {_kind(inner)}"
    words: str = f"{form} {json.dumps(inner)}" if form in ("int", "float") else f"a table ({inner})"
    return words


def _document(catalogue: Catalogue, more: Mapping[str, object]) -> str:
    head = {"schema": 1, "program": catalogue.program, "version": catalogue.version}
    return json.dumps({**head, **more}, indent=2, ensure_ascii=False)


def _told(flag: Flag) -> dict[str, object]:
    """A flag as data: every field is there, whatever it is."""
    return {
        "spellings": flag.spellings,
        "off": flag.negatives,
        "takes": takes(flag),
        "kind": flag.kind,
        "known": flag.choices or flag.known,
        "closed": bool(flag.choices),
        "default": flag.default,
        "deprecated": flag.deprecated,
        "retired": flag.retired,
        "instead": flag.instead and flag.instead.lstrip("-"),
    }


def _others(flag: Flag) -> str:
    return " ".join(spelling.lstrip("-") for spelling in flag.spellings if spelling != flag.name)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def _shown(value: object) -> str:
    return "" if value is None else json.dumps(value)


def _state(flag: Flag) -> str:
    instead = f", use {flag.instead.lstrip('-')}" if flag.instead else ""
    if flag.retired:
        return f"the program ends at it{instead}"
    return f"deprecated{instead}" if flag.deprecated else ""


def _diff(files: Files, args: argparse.Namespace, terminal: Terminal) -> int:
    if len(args.words) != 2:
        raise Usage("`launch flags diff` compares two versions", advice=f"`launch flags diff {args.program} OLD NEW`")
    old, new = (named(files, f"{args.program}@{version}") for version in args.words)
    behaviour = list(_behaviour(files, old, new))
    if args.json:
        found = [{"kind": each.kind, "flag": each.key, "what": each.what} for each in changes(old, new)]
        told = [each.model_dump() for each in behaviour]
        terminal.say(_document(new, {"before": old.version, "changes": found, "behaviour": told}))
        return 0
    rows = [(each.since, ", ".join(each.flags), each.about) for each in behaviour]
    texts = [difference(old, new, color=terminal.color_out)]
    texts += [table(("since", "flag", "what it does"), rows, color=terminal.color_out)] if rows else []
    if any(texts):
        terminal.say("\n\n".join(filter(None, texts)))
    terminal.note(summary(old, new))
    return 0


def _behaviour(files: Files, old: Catalogue, new: Catalogue) -> Iterator[Difference]:
    """What the later of two versions does otherwise, as the program's role manifests say."""
    first, last = sorted((numbers(old.version), numbers(new.version)))
    for name in files.manifests():
        document = files.manifest(name)
        if document is None or table_of(document.data, "program").get("name") != new.program:
            continue
        for each in document.data.get("differences", ()):
            difference = Difference.model_validate(each)
            if first < numbers(difference.since) <= last:
                yield difference


def difference(old: Catalogue, new: Catalogue, *, color: bool = False) -> str:
    """A table of what changed; empty where nothing did."""
    rows = [(change.kind, change.key, change.what) for change in changes(old, new)]
    return table(("", "flag", "what"), rows, color=color) if rows else ""


def summary(old: Catalogue, new: Catalogue) -> str:
    """One line: how many flags came, went and changed."""
    kinds = [change.kind for change in changes(old, new)]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("added", "removed", "changed") if kind in kinds)
    return f"{new.program} {old.version} → {new.version}: {counts or 'the same flags'}"


def read(name: str) -> str:
    """A file's text, or standard input. Raises Usage for one that cannot be read."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        message = f"`{name}` cannot be read: {(error.strerror or str(error)).lower()}"
        raise Usage(message, advice="name a file with what `--help` printed, or `-` for stdin") from error
