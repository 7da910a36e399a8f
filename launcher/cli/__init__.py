"""Words on the command line → calls below; prints.

Nothing but argparse is imported until a verb runs: `launch --help` and `launch VERB --help` stay instant.
"""

import gc
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import NoReturn

from launcher.cli.guard import Guard, Usage
from launcher.cli.options import OPTIONS
from launcher.cli.parser import Parser
from launcher.cli.terminal import Terminal

VERBS: Mapping[str, tuple[str, str]] = {
    "check": ("launcher.cli.check", "find mistakes in recipes; nothing is started"),
    "plan": ("launcher.cli.plan", "show what would run: steps, GPUs, ports, commands, files"),
    "render": ("launcher.cli.render", "show what would be executed, word for word"),
    "explain": ("launcher.cli.explain", "say what the code of a finding means"),
    "up": ("launcher.cli.up", "start a recipe, wait until it answers, follow it until it ends"),
    "ps": ("launcher.cli.ps", "list runs"),
    "logs": ("launcher.cli.logs", "show what the steps of a run wrote"),
    "wait": ("launcher.cli.wait", "wait until a run is ready, or has ended"),
    "exec": ("launcher.cli.exec", "run a command in the environment of a step"),
    "down": ("launcher.cli.down", "stop a run"),
    "flags": ("launcher.cli.flags", "show, compare and learn the flags of programs"),
    "schema": ("launcher.cli.schema", "print the JSON Schema of a kind of file"),
    "cluster": ("launcher.cli.clusters", "list clusters, begin one, compare one with its site"),
    "config": ("launcher.cli.config", "say which files make up the configuration"),
    "completion": ("launcher.cli.completion", "print a completion script for a shell"),
    "images": ("launcher.cli.images", "name images of a cluster, pin them, look after them"),
}
"""Verb → the module whose `run` it is, and one line of help. Its options are in `options.OPTIONS`."""

NESTED = ("images", "cluster")
"""Verbs that are followed by one of their own; their module has `VERBS` and `OPTIONS` instead of a `run`."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "look first": ("check", "plan", "render", "explain", "flags"),
    "run": ("up", "ps", "logs", "wait", "exec", "down"),
    "set up": ("cluster", "images", "schema", "config", "completion"),
}
"""Headings of `launch --help` → verbs."""

_EPILOG = """\
A recipe is a file (`./my.toml`, `my.toml:VARIANT`), `-` for stdin, or the name of a shipped one
(`quickstart`). Try it: `launch up quickstart`. More on a verb: `launch VERB --help`.

exit codes
    0  fine                                    4  an image, or a program of it, is missing or wrong
    1  the operation failed, or plans differ   5  Slurm refused, or is not there
    2  command line, or a file is absent       6  not ready within the budget
    3  recipe, manifest or cluster refused     7  a step of the run ended
  126  `exec`: the command cannot be run     127  `exec`: the command is not there
  130  interrupted by Ctrl-C                 143  ended by TERM or a hang-up
  141  the reader of stdout went away
"""


def program() -> NoReturn:
    """The process `launch`: ends it with the exit code of `main`, all output written.

    Nothing of it is left to be put away, which the interpreter takes as long for as `check` for its checks.
    """
    os._exit(main())


def main(argv: Sequence[str] | None = None) -> int:
    """Runs `launch` with `argv` (default: the process's own); returns its exit code, raises nothing."""
    guard = Guard(Terminal.open())
    with guard:
        guard.status = _run(list(sys.argv[1:] if argv is None else argv), guard.terminal)
        guard.terminal.flush()
    guard.terminal.close()
    return guard.status


def verbs() -> Mapping[str, tuple[str, str]]:
    """As `VERBS`, with `images ls` and its like in the place of `images`."""
    found = {verb: entry for verb, entry in VERBS.items() if verb not in NESTED}
    for verb in NESTED:
        found |= {f"{verb} {inner}": entry for inner, entry in import_module(VERBS[verb][0]).VERBS.items()}
    return found


def parser(verb: str) -> Parser:
    """The parser of one verb; `images ls` is one."""
    outer, _, inner = verb.partition(" ")
    about, options = VERBS[outer][1], OPTIONS.get(outer)
    if inner:
        module = import_module(VERBS[outer][0])
        about, options = module.VERBS[inner][1], module.OPTIONS[inner]
    made = Parser(f"launch {verb}", about)
    if options is not None:
        options(made)
    return made


def help_text() -> str:
    """What `launch --help` prints."""
    lines = ["usage: launch VERB …", ""]
    for heading, verbs in GROUPS.items():
        lines.append(heading)
        lines += [f"  {verb:<11} {VERBS[verb][1]}" for verb in verbs]
        lines.append("")
    return "\n".join(lines) + "\n" + _EPILOG.rstrip("\n")


def _run(words: list[str], terminal: Terminal) -> int:
    if not words:
        terminal.note(help_text())
        return 2
    if words[0] == "help":
        words = [*words[1:3], "--help"]
    verb = words[0]
    if verb in {"-h", "--help"}:
        terminal.say(help_text())
        return 0
    if verb in {"-V", "--version"}:
        terminal.say(f"launch {import_module('importlib.metadata').version('launcher')}")
        return 0
    if verb not in VERBS:
        raise _unknown(verb, VERBS, "launch")
    # What other packages plug into pydantic has no say in how our files are read, and looking for it takes time.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Nothing that a verb imports is ever garbage: looking for some meanwhile is a twentieth of what `check` costs.
    gc.set_threshold(100_000)
    if verb in NESTED:
        return _nested(verb, words[1:], terminal)
    return _call(verb, VERBS[verb][0], words[1:], terminal)


def _nested(verb: str, words: list[str], terminal: Terminal) -> int:
    inner: Mapping[str, tuple[str, str]] = import_module(VERBS[verb][0]).VERBS
    lines = [f"usage: launch {verb} VERB …", "", *(f"  {name:<11} {about}" for name, (_, about) in inner.items())]
    if not words:
        terminal.note("\n".join(lines))
        return 2
    if words[0] in {"-h", "--help"}:
        terminal.say("\n".join(lines))
        return 0
    if words[0] not in inner:
        raise _unknown(words[0], inner, f"launch {verb}")
    return _call(f"{verb} {words[0]}", inner[words[0]][0], words[1:], terminal)


def _call(verb: str, module: str, words: list[str], terminal: Terminal) -> int:
    made = parser(verb)
    if asked := made.asked(words):
        terminal.say(asked.rstrip("\n"))
        return 0
    args = made.read(words)
    status: int = import_module(module).run(args, terminal)
    return status


def _unknown(verb: str, known: Iterable[str], program: str) -> Usage:
    what = "option" if verb.startswith("-") else "verb"
    options = ("--help", "--version") if program == "launch" else ("--help",)
    return Usage(f"there is no {what} `{verb}`", verb, (*known, *options), f"see `{program} --help`")
