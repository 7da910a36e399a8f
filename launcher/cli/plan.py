"""`launch plan RECIPE`: what would run. Asks nothing of the world, so it says the same everywhere."""

import argparse
import json
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from launcher.cli import arguments, stages
from launcher.cli.graph import GRAPHS
from launcher.cli.guard import Usage, refuse
from launcher.cli.origin import chain
from launcher.cli.terminal import Terminal
from launcher.cli.view import overview
from launcher.model.library import Library
from launcher.model.link import Request
from launcher.plan.plan import plan
from launcher.plan.step import Plan
from launcher.render.script import render
from launcher.run.script import SCHEMA, Script, to_data


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints the plan; warnings go to stderr."""
    if args.diff and (args.graph or args.explain):
        raise Usage("`--diff` goes with `--json` alone", advice="see `launch plan --help`")
    documents = stages.library()
    request = arguments.request(args, args.recipe)
    if args.explain:
        terminal.say(chain(stages.checked(request, documents).job, args.explain, color=terminal.color_out))
        return 0
    made, script, findings = planned(request, documents)
    if findings:
        refuse(findings, terminal)
    if args.diff:
        status: int = import_module("launcher.cli.comparison").run(args, terminal, made, documents)
        return status
    if args.json:
        terminal.say(document(made, script))
    elif args.graph:
        terminal.say(GRAPHS[args.graph](made))
    else:
        terminal.say(overview(made, color=terminal.color_out))
    return 0


def planned(request: Request, documents: Library) -> tuple[Plan, Script, Sequence[Any]]:
    """Plan and Script of a recipe, and the warnings. Raises `Refused`."""
    checked = stages.accepted(request, documents)
    made = plan(checked.job, checked.adapters)
    return made, render(made, checked.job.cluster), checked.findings


def document(made: Plan, script: Script) -> str:
    """Plan and Script as one JSON document; late references keep their marks, as ASCII escapes."""
    whole = {"schema": SCHEMA, "plan": to_data(made), "script": to_data(script)}
    return json.dumps(whole, ensure_ascii=True, indent=1)
