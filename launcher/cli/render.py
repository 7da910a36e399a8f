"""`launch render RECIPE`: what would be executed, word for word."""

import argparse
import json
from collections.abc import Iterator

from launcher.cli import arguments, stages
from launcher.cli.guard import refuse
from launcher.cli.terminal import Terminal, paint
from launcher.cli.view import gate_in_full, quoted
from launcher.plan.plan import plan
from launcher.render.sbatch import Submission, submission
from launcher.render.script import render
from launcher.run.script import Allocation, Child, File, Script, dump, shown
from launcher.text.secret import mask


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints the Script; warnings go to stderr."""
    checked = stages.accepted(arguments.request(args, args.recipe), stages.library())
    if checked.findings:
        refuse(checked.findings, terminal)
    made, cluster = plan(checked.job, checked.adapters), checked.job.cluster
    script = render(made, cluster)
    job = submission(made, cluster) if made.batch else None
    terminal.say(dump(script) if args.json else mask("\n\n".join(sections(script, job, color=terminal.color_out))))
    return 0


def sections(script: Script, job: Submission | None = None, *, color: bool = False) -> Iterator[str]:
    """One piece of text for the job, each step and file, and what makes the run ready.

    Each command is one line for a shell.
    """
    if job is not None:
        yield "\n".join([paint("job", "1", color), *_job(job)])
    if script.allocation is not None:
        yield "\n".join([paint("asked of the nodes", "1", color), *_allocation(script.allocation)])
    for child in script.children:
        yield "\n".join([paint(f"step {child.name}", "1", color), *_child(child)])
    for file in script.files:
        yield "\n".join([paint(f"file {shown(file.path)}", "1", color) + f"  mode {file.mode:04o}", *_file(file)])
    if script.ready:
        asked = [f"  {gate_in_full(gate)}" for gate in script.ready]
        yield "\n".join([paint(f"ready within {script.budgets.ready:g} s", "1", color), *asked])
    if script.inherit:
        yield "\n".join([paint("variables of the shell that steps get", "1", color), f"  {' '.join(script.inherit)}"])


def _job(job: Submission) -> Iterator[str]:
    yield f"  words     {' '.join(map(quoted, job.argv))}"
    yield f"  env from  {' '.join(job.inherit)}"


def _allocation(told: Allocation) -> Iterator[str]:
    yield f"  words     {' '.join(map(quoted, told.facts))}"
    for number, node in enumerate(told.nodes):
        wanted = [f"ports {' '.join(map(str, node.ports))}"] if node.ports else []
        wanted += [f"paths {' '.join(map(quoted, node.paths))}"] if node.paths else []
        wanted += [f"{node.gpus} GPUs"] if node.gpus else []
        yield f"  node {number:<4} {', '.join(wanted) or 'nothing'}"
    for root in told.roots:
        yield f"  left      {root.kind} {quoted(root.name)}, removed by {' '.join(map(quoted, root.remove))}"


def _child(child: Child) -> Iterator[str]:
    ends = "its end ends the run" if child.critical else "the run goes on without it"
    yield f"  role      {child.role or 'none'}, {'lasting' if child.lasting else 'runs to its end'}; {ends}"
    if child.benchmark:
        yield "  after     the run is ready"
    elif child.after:
        yield f"  after     {' '.join(child.after)}"
    for name, value in child.env.items():
        yield f"  env       {name}={quoted(value)}"
    if child.env_from:
        yield f"  env from  {' '.join(child.env_prefix + name for name in child.env_from)}"
    for gate in child.gates:
        yield f"  gate      {gate_in_full(gate)}"
    yield f"  stop      {child.stop.signal}, KILL after {child.stop.seconds:g} s"
    yield f"  words     {' '.join(map(quoted, child.argv))}"


def _file(file: File) -> Iterator[str]:
    text = file.text if file.text is not None else json.dumps(file.data, indent=2, ensure_ascii=False)
    yield from (f"  | {line}" for line in shown(text).rstrip("\n").split("\n"))
