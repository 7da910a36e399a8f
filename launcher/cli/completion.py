"""`launch completion SHELL`: a script that completes verbs, options, their values and runs."""

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping

from launcher.cli import NESTED, VERBS, parser, verbs
from launcher.cli.terminal import Terminal

_BASH = """\
_launch() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} verb=${{COMP_WORDS[1]}} words=
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W {verbs} -- "$word"))
        return
    fi
    case "$verb" in
{nested}
    esac
    case "$verb $before" in
{values}
    esac
    [ -n "$words" ] || case "$verb" in
{options}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _launch launch
"""

_INNER = """\
        {verb})
            if [ "$COMP_CWORD" -eq 2 ]; then
                COMPREPLY=($(compgen -W {inner} -- "$word"))
                return
            fi
            verb="$verb ${{COMP_WORDS[2]}}" ;;"""

_RUNS = "last $(launch ps --all 2>/dev/null | awk 'NR > 1 {print $1}')"


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints the script for the shell."""
    terminal.say(_SCRIPTS[args.shell]().rstrip("\n"))
    return 0


def bash() -> str:
    """A bash script; where nothing of ours fits, bash completes file names."""
    values = [
        f"        {shlex.quote(f'{verb} {name}')}) words={shlex.quote(' '.join(action.choices))} ;;"
        for verb in verbs()
        for action in _actions(verb)
        for name in action.option_strings
        if action.choices
    ]
    options = [f'        {shlex.quote(verb)}) words="{_words(verb)}" ;;' for verb in verbs()]
    nested = [_INNER.format(verb=verb, inner=shlex.quote(" ".join(_inner(verb)))) for verb in NESTED]
    named = shlex.quote(" ".join(VERBS))
    return _BASH.format(verbs=named, values="\n".join(values), options="\n".join(options), nested="\n".join(nested))


def zsh() -> str:
    """The bash script, through zsh's own bridge."""
    return f"autoload -U +X bashcompinit && bashcompinit\n{bash()}"


def fish() -> str:
    """One `complete` line a verb, an option and a set of values."""
    return "\n".join(_fish())


_SCRIPTS: Mapping[str, Callable[[], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def _fish() -> Iterator[str]:
    for verb, (_, about) in VERBS.items():
        yield f"complete -c launch -n __fish_use_subcommand -f -a {verb} -d {shlex.quote(about)}"
    for outer in NESTED:
        for inner in _inner(outer):
            about = verbs()[f"{outer} {inner}"][1]
            yield f"complete -c launch -n '__fish_seen_subcommand_from {outer}' -f -a {inner} -d {shlex.quote(about)}"
    for verb in verbs():
        seen = f"complete -c launch -n '{_seen(verb)}'"
        for action in _actions(verb):
            names = "".join(
                f" {'-l' if name[:2] == '--' else '-s'} {name.lstrip('-')}" for name in action.option_strings
            )
            values = f" -xa {shlex.quote(' '.join(action.choices))}" if action.choices else ""
            if names or values:
                yield f"{seen}{names}{values} -d {shlex.quote(action.help or '')}"
            elif action.dest == "run":
                yield f"{seen} -f -a {shlex.quote(_RUNS.replace('$(', '('))}"


def _seen(verb: str) -> str:
    return "; and ".join(f"__fish_seen_subcommand_from {word}" for word in verb.split())


def _inner(outer: str) -> list[str]:
    return [verb.partition(" ")[2] for verb in verbs() if verb.startswith(f"{outer} ")]


def _words(verb: str) -> str:
    options = [name for action in _actions(verb) for name in action.option_strings]
    choices = [word for action in _actions(verb) if not action.option_strings for word in action.choices or ()]
    runs = [_RUNS] if any(action.dest == "run" for action in _actions(verb)) else []
    return " ".join([*options, *choices, *runs])


def _actions(verb: str) -> list[argparse.Action]:
    return parser(verb).actions()
