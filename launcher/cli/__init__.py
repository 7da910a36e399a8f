"""Words on the command line → calls below; prints.

Nothing but argparse is imported until a verb runs: `launch --help` and `launch VERB --help` stay instant.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

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
    "config": ("launcher.cli.config", "say which files make up the configuration"),
    "completion": ("launcher.cli.completion", "print a completion script for a shell"),
}
"""Verb → the module whose `run` it is, and one line of help. Its options are in `options.OPTIONS`."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "look first": ("check", "plan", "render", "explain", "flags"),
    "run": ("up", "ps", "logs", "wait", "exec", "down"),
    "set up": ("schema", "config", "completion"),
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
  130  interrupted by Ctrl-C                 143  ended by TERM or a hang-up
  141  the reader of stdout went away
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs `launch` with `argv` (default: the process's own); returns its exit code, raises nothing."""
    guard = Guard(Terminal.open())
    with guard:
        guard.status = _run(list(sys.argv[1:] if argv is None else argv), guard.terminal)
        guard.terminal.flush()
    guard.terminal.close()
    return guard.status


def parser(verb: str) -> Parser:
    """The parser of one verb."""
    made = Parser(f"launch {verb}", VERBS[verb][1])
    OPTIONS[verb](made)
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
        words = [*words[1:2], "--help"]
    verb = words[0]
    if verb in {"-h", "--help"}:
        terminal.say(help_text())
        return 0
    if verb in {"-V", "--version"}:
        terminal.say(f"launch {import_module('importlib.metadata').version('launcher')}")
        return 0
    if verb not in VERBS:
        what = "option" if verb.startswith("-") else "verb"
        raise Usage(f"there is no {what} `{verb}`", verb, (*VERBS, "--help", "--version"), "see `launch --help`")
    made = parser(verb)
    if asked := made.asked(words[1:]):
        terminal.say(asked.rstrip("\n"))
        return 0
    args = made.read(words[1:])
    status: int = import_module(VERBS[verb][0]).run(args, terminal)
    return status
