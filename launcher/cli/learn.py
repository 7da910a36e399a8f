"""`launch flags harvest`: makes a flag catalogue from the program itself, and says what changed."""

import argparse
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from launcher.cli import flags
from launcher.cli.guard import Usage
from launcher.cli.terminal import Terminal
from launcher.execute import harvest, helptext, usage
from launcher.execute.conversion import Converted
from launcher.execute.folder import NAME
from launcher.execute.library import Files, config
from launcher.execute.world import Real
from launcher.model.catalogue import Catalogue, dump, stand_in
from launcher.model.grammar import Grammar, complete
from launcher.run import files
from launcher.text.diagnostic import Refused

T = TypeVar("T")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints the path of each file it wrote; notes what changed since the version before."""
    library = Files()
    grammar = _grammar(library, args.program)
    for word in args.words:
        if not NAME.fullmatch(word):
            raise Usage(f"`{word}` is no version", advice="a version is the name of a file: letters, digits, `._-`")
    folder = _folder(args.into) / grammar.name
    done: set[str] = set()
    for version in _versions(library, grammar, args):
        made, unread = _made(grammar, version, args)
        if made.version in done:
            # The newest is one of those that are there.
            continue
        done.add(made.version)
        before = stand_in(made.version, library.versions(grammar.name))
        old = library.catalogue(grammar.name, before) if before else None
        if old is not None and not args.unlike:
            _alike(old, made)
        path = folder / f"{made.version}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(str(path), dump(made).encode(), 0o644)
        terminal.say(str(path))
        if old is not None:
            text = flags.difference(old, made)
            terminal.note("\n".join(filter(None, (text, flags.summary(old, made)))))
        if unread:
            what = f"nobody knows what these take, so they take anything: {', '.join(unread)}"
            terminal.note(f"{what}; say it under `[types]` or `[flags]` in `grammar.toml`")
    return 0


def _alike(old: Catalogue, made: Catalogue) -> None:
    """Raises Refused where less than half is left: no version of a program that is known went that far."""
    left = sum(1 for flag in old.flags.values() if made.exactly(flag.key))
    if 2 * left < len(old.flags):
        of = f"{old.program} {old.version}"
        what = f"of {len(old.flags)} flags of {of} {left} are left: this looks like another program"
        raise harvest.failed(f"{what}; `--unlike` takes it all the same")


def _grammar(library: Files, program: str) -> Grammar:
    document = library.catalogues.grammar(program)
    if document is None:
        known = [name for name in library.catalogues.programs() if library.catalogues.grammar(name)]
        advice = f"one of {', '.join(known)}; the guide on flag catalogues says how one more is written"
        raise Usage(f"nobody says how `{program}` reads its command line", program, known, advice)
    try:
        return Grammar.model_validate(dict(complete(document.data, lambda name: _data(library, name))))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise harvest.failed(f"`{document.name}`: `{where}`: {first['msg'].lower()}") from error
    except ValueError as error:
        raise harvest.failed(f"`{document.name}`: {error}") from error


def _data(library: Files, program: str) -> Mapping[str, Any] | None:
    document = library.catalogues.grammar(program)
    return document.data if document else None


def _versions(library: Files, grammar: Grammar, args: argparse.Namespace) -> Iterator[str | None]:
    """The versions to make: those named, else the newest; with `--again` all that are there, and the newest."""
    if not args.again:
        yield from args.words or [None]
        return
    if grammar.distribution is None:
        return
    yield from library.versions(grammar.name)
    yield None


def _made(grammar: Grammar, version: str | None, args: argparse.Namespace) -> Converted:
    if args.python is not None:
        return harvest.from_python(grammar, _words(args.python), version)
    if grammar.help == "getopt":
        manual = flags.read(args.help_text) if args.help_text else ""
        return Converted(_asked(usage.harvest, grammar.name, usage.asker([grammar.name]), manual), [])
    if args.help_text:
        if version is None:
            advice = f"`launch flags harvest {grammar.name} VERSION …`"
            raise Usage("a help text does not say its version", advice=advice)
        return _asked(helptext.harvest, grammar, version, flags.read(args.help_text))
    if args.wheel:
        return harvest.from_wheel(grammar, version, Path(args.wheel))
    if grammar.distribution is None:
        advice = (
            f"`{grammar.prints or grammar.name} --help | launch flags harvest {grammar.name} VERSION --help-text -`"
        )
        raise Usage(f"{grammar.name} is not on PyPI", advice=advice)
    return harvest.from_wheel(grammar, version)


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Usage(f"`--python`: {str(error).lower()}", advice="quote it as a shell would") from error
    if not words:
        raise Usage("`--python` names no program", advice="a path, or what runs a Python elsewhere")
    return words


def _asked(make: Callable[..., T], *args: Any) -> T:
    """What `make` returns; what goes wrong is a refusal."""
    try:
        return make(*args)
    except (ValueError, OSError, subprocess.TimeoutExpired) as error:
        raise harvest.failed(str(error)) from error


def _folder(into: str | None) -> Path:
    """Where catalogues are written: a folder like `manifests/flags`. Raises Refused where there is none."""
    if into is not None:
        return Path(into)
    own = config(Real().environ)
    if own is None:
        raise Refused(harvest.failed("neither `XDG_CONFIG_HOME` nor `HOME` is a directory").diagnostics)
    return own / "manifests" / "flags"
