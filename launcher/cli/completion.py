"""`launch completion SHELL`: a script that completes verbs, options, their values and runs."""

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module

from launcher.cli import NESTED, VERBS, parser, verbs
from launcher.cli.guard import Usage
from launcher.cli.terminal import Terminal

KINDS: Mapping[str, str] = {
    "recipe": "recipes",
    "cluster": "clusters",
    "code": "codes",
    "alias": "aliases",
    "run": "runs",
    "diff": "runs",
    "names": "steps",
    "step": "steps",
}
"""What a word of the command line names (argparse's `dest`) → what `--words` lists."""

_FILES = ("recipes", "clusters")
"""Kinds that a file may stand for."""

# `words` would be zsh's own.
_BASH = """\
_launch() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} verb=${{COMP_WORDS[1]}}
    local offered= kind= number=2 each first= count=0
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W {verbs} -- "$word"))
        return
    fi
    case "$verb" in
{nested}
    esac
    while [ "$number" -lt "$COMP_CWORD" ]; do
        each=${{COMP_WORDS[number]}}
        number=$((number + 1))
        case "$verb $each" in
            {valued}) number=$((number + 1)) ;;
            "$verb "-*) ;;
            *) [ "$count" -gt 0 ] || first=$each; count=$((count + 1)) ;;
        esac
    done
    case "$verb $before" in
{values}
        *)
            case "$word" in
                -*)
                    case "$verb" in
{options}
                    esac ;;
                *)
                    case "$verb $count" in
{positions}
                    esac ;;
            esac ;;
    esac
    [ -z "$kind" ] || offered="$(launch completion --words "$kind" --run "${{first:-last}}" 2>/dev/null)"
    COMPREPLY=($(compgen -W "$offered" -- "$word"))
}}
complete -o default -F _launch launch
"""

_INNER = """\
        {verb})
            if [ "$COMP_CWORD" -eq 2 ]; then
                COMPREPLY=($(compgen -W {inner} -- "$word"))
                return
            fi
            number=3
            verb="$verb ${{COMP_WORDS[2]}}" ;;"""

_ZSH = """\
(( $+functions[compdef] )) || {{ autoload -U +X compinit && compinit }}
autoload -U +X bashcompinit && bashcompinit
{bash}"""


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints the script for the shell, or the words that it asks for, one a line."""
    if args.words:
        terminal.say("\n".join(import_module("launcher.cli.words").WORDS[args.words](args.run)))
    elif args.shell:
        terminal.say(_SCRIPTS[args.shell]().rstrip("\n"))
    else:
        raise Usage("`bash|zsh|fish` is missing", advice="see `launch completion --help`")
    return 0


def bash() -> str:
    """A bash script; where nothing of ours fits, bash completes file names."""
    nested = [_INNER.format(verb=verb, inner=shlex.quote(" ".join(_inner(verb)))) for verb in NESTED]
    return _BASH.format(
        verbs=shlex.quote(" ".join(VERBS)),
        nested="\n".join(nested),
        values="\n".join(f"        {line}" for verb in verbs() for line in _values(verb)),
        valued="|".join(shlex.quote(f"{verb} {name}") for verb in verbs() for name, _ in _valued(verb)),
        options="\n".join(f"{' ' * 24}{shlex.quote(verb)}) offered={_quoted(_options(verb))} ;;" for verb in verbs()),
        positions="\n".join(f"{' ' * 24}{line}" for verb in verbs() for line in _positions(verb)),
    )


def zsh() -> str:
    """The bash script, through zsh's own bridge."""
    return _ZSH.format(bash=bash())


def fish() -> str:
    """One `complete` line a verb, an option and a set of values."""
    return "\n".join(_fish())


_SCRIPTS: Mapping[str, Callable[[], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


_WHEN = "complete -c launch -n "


def _fish() -> Iterator[str]:
    for verb, (_, about) in VERBS.items():
        yield f"{_WHEN}__fish_use_subcommand -f -a {verb} -d {shlex.quote(about)}"
    for outer in NESTED:
        for inner in _inner(outer):
            about = verbs()[f"{outer} {inner}"][1]
            yield f"{_WHEN}'__fish_seen_subcommand_from {outer}' -f -a {inner} -d {shlex.quote(about)}"
    for verb in verbs():
        yield from _fish_options(verb)
        yield from _fish_words(verb)


def _fish_options(verb: str) -> Iterator[str]:
    for action in _actions(verb):
        names = [f"{'-l' if name[:2] == '--' else '-s'} {name.lstrip('-')}" for name in action.option_strings]
        about = f"-d {shlex.quote(action.help or '')}"
        if names:
            yield f"{_WHEN}'{_seen(verb)}' {' '.join(names)}{_taken(action)} {about}"


def _fish_words(verb: str) -> Iterator[str]:
    for number, action in enumerate(_words(verb)):
        more = "-ge" if action.nargs in ("*", "+") else "-eq"
        at = f"{_seen(verb)}; and test (count (commandline -opc)) {more} {len(verb.split()) + 1 + number}"
        if action.choices or action.dest in KINDS:
            yield f"{_WHEN}'{at}'{_taken(action).replace(' -x', ' -f -')}"


def _taken(action: argparse.Action) -> str:
    """Fish's words for what an option or a position takes."""
    kind = KINDS.get(action.dest)
    if action.choices:
        return f" -xa {shlex.quote(' '.join(action.choices))}"
    if kind is None:
        return "" if action.nargs == 0 else " -r"
    run = " --run (commandline -opc)[3]" if kind == "steps" else ""
    files = " -r -a" if kind in _FILES else " -xa"
    return f"{files} {shlex.quote(f'(launch completion --words {kind}{run} 2>/dev/null)')}"


def _valued(verb: str) -> Iterator[tuple[str, argparse.Action]]:
    """Each spelling of the options that take a value."""
    yield from ((name, each) for each in _actions(verb) if each.nargs != 0 for name in each.option_strings)


def _values(verb: str) -> Iterator[str]:
    """Lines of a shell's `case`: what the options of the verb take."""
    for name, action in _valued(verb):
        yield f"{shlex.quote(f'{verb} {name}')}) {_offer(action)} ;;"


def _positions(verb: str) -> Iterator[str]:
    """Lines of a shell's `case`: what the words of the verb name, by how many came before."""
    for number, action in enumerate(_words(verb)):
        if action.choices or action.dest in KINDS:
            count = "*" if action.nargs in ("*", "+") else str(number)
            yield f"{_quoted(f'{verb} ')}{count}) {_offer(action)} ;;"


def _offer(action: argparse.Action) -> str:
    if action.choices:
        return f"offered={_quoted(' '.join(action.choices))}"
    return f"kind={KINDS.get(action.dest, '')}"


def _options(verb: str) -> str:
    return " ".join(name for action in _actions(verb) for name in action.option_strings)


def _words(verb: str) -> list[argparse.Action]:
    return [action for action in _actions(verb) if not action.option_strings]


def _quoted(text: str) -> str:
    return f"'{text}'"


def _seen(verb: str) -> str:
    return "; and ".join(f"__fish_seen_subcommand_from {word}" for word in verb.split())


def _inner(outer: str) -> list[str]:
    return [verb.partition(" ")[2] for verb in verbs() if verb.startswith(f"{outer} ")]


def _actions(verb: str) -> list[argparse.Action]:
    return parser(verb).actions()
