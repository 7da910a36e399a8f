"""`launch check RECIPE…`: every mistake that can be found without starting anything."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module

from launcher.cli import arguments, stages
from launcher.cli.guard import Usage, exit_code
from launcher.cli.terminal import Terminal
from launcher.model.library import Library
from launcher.model.link import Request
from launcher.model.source import variants
from launcher.text.diagnostic import Diagnostic, Refused, errors
from launcher.text.report import FORMATS, full


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints the findings of all recipes on stdout, a summary on stderr; returns the exit code."""
    if args.fix and "-" in args.recipe:
        raise Usage("`--fix` writes files, and `-` is none", advice="name the recipe's file")
    found = _found(args)
    if args.fix and any(finding.rename for finding in found) and _fixed(found, terminal):
        found = _found(args)
    if found or args.format in _DOCUMENTS:
        drawn = full(found, color=terminal.color_out) if args.format == "full" else FORMATS[args.format](found)
        terminal.say(drawn.rstrip("\n"))
    if args.format in _FOR_PEOPLE:
        terminal.note(summary(found, args.recipe))
    return exit_code(found)


def _found(args: argparse.Namespace) -> list[Diagnostic]:
    documents = stages.library()
    requests = [arguments.request(args, recipe) for recipe in args.recipe]
    return [one for each in requests for one in every(each, documents, probe=args.probe)]


def _fixed(found: Sequence[Diagnostic], terminal: Terminal) -> bool:
    """Whether a file was written; says what was done."""
    done = import_module("launcher.cli.fix").fix(found)
    for each in done:
        terminal.note(each.line)
    return any(each.written for each in done)


def every(request: Request, documents: Library, *, probe: bool = False) -> Sequence[Diagnostic]:
    """As `findings`, of the recipe and of each of its variants: what only those have comes with a note."""
    found = list(findings(request, documents, probe=probe))
    for name in variants(documents, request.recipe):
        chosen = replace(request, recipe=f"{request.recipe}:{name}")
        for finding in findings(chosen, documents):
            if finding not in found:
                found.append(replace(finding, notes=(*finding.notes, f"in variant `{name}`")))
    return found


def findings(request: Request, documents: Library, *, probe: bool = False) -> Sequence[Diagnostic]:
    """What is wrong with one recipe, at whichever stage it was found; with `probe` this machine is asked as well."""
    try:
        checked = stages.checked(request, documents)
        if not probe or errors(checked.findings):
            return checked.findings
        # What answers questions is imported where there are any.
        asked: list[Diagnostic] = import_module("launcher.cli.probing").probed(checked)
        return [*checked.findings, *asked]
    except Refused as refused:
        return refused.diagnostics


def summary(found: Sequence[Diagnostic], recipes: Sequence[str]) -> str:
    """One line: how many errors and warnings in how many recipes."""
    refusing = len(errors(found))
    warnings = len(found) - refusing
    counts = [
        f"{count} {word}{'s' * (count != 1)}" for count, word in ((refusing, "error"), (warnings, "warning")) if count
    ]
    where = f"`{recipes[0]}`" if len(recipes) == 1 else f"{len(recipes)} recipes"
    return f"{where}: {', '.join(counts) or 'no mistakes found'}"


_DOCUMENTS = frozenset({"json", "sarif"})
"""Formats that are a whole document even with nothing in it."""

_FOR_PEOPLE = frozenset({"full", "concise"})
