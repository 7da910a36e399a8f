"""Catalogues of Slurm's own options, made by asking the program itself.

    python -m launcher.execute.usage PROGRAM [--man FILE] [--run COMMAND]

prints the catalogue to keep as `manifests/flags/PROGRAM/VERSION.json`. Candidates are all long options that `--help`
or the manual (troff) mentions; for each the program is run, which says itself whether it knows the option and
whether that takes a value (getopt's words). COMMAND starts a program that is not on PATH. Nothing is submitted: there
is no script and no command.
"""

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from launcher.model.catalogue import Catalogue, Flag, dump

Ask = Callable[[str], str]
"""One word for the program → what it says."""

LISTS = (
    *("batch", "clusters", "cluster-constraint", "constraint", "exclude", "gres", "gres-flags", "licenses"),
    *("mail-type", "nodelist", "profile", "propagate", "bcast-exclude", "tres-per-task", "tres-bind"),
)
"""Options whose value is a list with commas."""

_PATIENCE = 30.0
_LEAVING = ("help", "usage", "version")
_MENTIONED = re.compile(r"--([a-z][a-z0-9-]*[a-z0-9])")
_TROFF = re.compile(r"\\(?:f[A-Z])?")
_SHORT = re.compile(r"^ {2}-([A-Za-z]),? +--([a-z0-9-]+)", re.MULTILINE)
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_SAID = re.compile(r"option '--([a-z0-9-]+)(?:=[^']*)?' (requires|doesn't allow) an argument")


def harvest(program: str, ask: Ask, manual: str = "") -> Catalogue:
    """The catalogue of `program`. Raises ValueError where it does not say its version."""
    version = _VERSION.search(ask("--version"))
    if version is None:
        raise ValueError(f"{program} does not say its version")
    text = ask("--help")
    mentioned = {*_MENTIONED.findall(text), *_MENTIONED.findall(_TROFF.sub("", manual))} - {*_LEAVING}
    short = {long: letter for letter, long in _SHORT.findall(text)}
    known = {name: facts for name in sorted(mentioned) if (facts := _asked(ask, name, mentioned)) is not None}
    flags = [_flag(name, facts, short.get(name)) for name, facts in known.items()]
    source = f"`{program} --help`, its manual, and its answer to each option"
    return Catalogue(program, version[0], {flag.name: flag for flag in flags}, source=source)


def _asked(ask: Ask, name: str, names: set[str]) -> dict[str, Any] | None:
    """What the program says an option takes; None for one it does not know, or knows as the beginning of another."""
    bare, given = ask(f"--{name}"), ask(f"--{name}=x")
    if any(word in bare for word in ("unrecognized option", "ambiguous")):
        return None
    for said in (bare, given):
        found = _SAID.search(said)
        if found is not None:
            return ({} if found[2] == "requires" else {"kind": "bool"}) if found[1] == name else None
    # A value that may be left out is nothing getopt speaks of; a beginning of another name is then not told apart.
    return None if any(other.startswith(name) and other != name for other in names) else {"arity": "?"}


def _flag(name: str, facts: Mapping[str, Any], short: str | None) -> Flag:
    spellings = (f"--{name}", *([f"-{short}"] if short else []))
    joined: dict[str, Any] = {"joined": ","} if name in LISTS and "kind" not in facts else {}
    return Flag(f"--{name}", spellings, **facts, **joined)


def asker(words: Sequence[str]) -> Ask:
    """Asks the program that `words` start."""

    def ask(word: str) -> str:
        done = subprocess.run(
            [*words, word],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
        return done.stdout

    return ask


def main(argv: Sequence[str] | None = None) -> int:
    """Print the catalogue the command line asks for; the exit code is 0."""
    parser = argparse.ArgumentParser(prog="python -m launcher.execute.usage", description=harvest.__doc__)
    parser.add_argument("--man", type=Path, help="the program's manual, not compressed")
    parser.add_argument("program", help="`sbatch` or `srun`")
    parser.add_argument("--run", help="what starts it; default: its name")
    args = parser.parse_args(argv)
    manual = args.man.read_text(encoding="utf-8", errors="replace") if args.man else ""
    sys.stdout.write(dump(harvest(args.program, asker(shlex.split(args.run or args.program)), manual)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
