"""`launch up RECIPE`: checks, plans, audits, starts, and stays until the run ends."""

import argparse
import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib import import_module

from launcher.cli import arguments, ending, stages
from launcher.cli.follow import Follower
from launcher.cli.guard import Usage, refuse
from launcher.cli.plan import document
from launcher.cli.signals import Signals
from launcher.cli.table import table
from launcher.cli.terminal import Terminal
from launcher.cli.view import overview
from launcher.execute import journal
from launcher.execute.claims import claimed, starting
from launcher.execute.journal import Contents, Run
from launcher.execute.probe import audited
from launcher.execute.runs import Kinds, Runs
from launcher.execute.site import Asked, Site, allocation, fitted, placed, site
from launcher.execute.world import Real, World
from launcher.model.job import Job
from launcher.plan.plan import plan
from launcher.plan.step import Plan, Step
from launcher.render.script import render
from launcher.run.job import bind_known
from launcher.run.prepare import slots
from launcher.run.script import Script
from launcher.text.diagnostic import Diagnostic, Refused, errors

_SLURM = "leave it out, or name a cluster that has: `--cluster NAME`"


@dataclass(frozen=True)
class Prepared:
    """All that is known before anything starts."""

    job: Job
    plan: Plan
    script: Script
    site: Site


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Runs the recipe; returns 0, or the exit code of what went wrong."""
    world = Real()
    arguments.budget(args)
    with ExitStack() as entered:
        with ExitStack() as turn:
            prepared = prepare(args, world, terminal, turn)
            if args.dry_run:
                terminal.say(overview(prepared.plan, color=terminal.color_out))
                terminal.note("nothing was started (`--dry-run`)")
                return 0
            kind = Kinds(world).named(prepared.site.kind)
            signals = entered.enter_context(Signals(leaves=kind.detaches))
            made = _made(world, prepared, kind, terminal)
        if args.detach and not signals.caught:
            terminal.note(
                f"started; `launch wait {made.name}`, `launch logs {made.name} -f`, `launch down {made.name}`"
            )
            terminal.say(made.name)
            return 0
        follower = Follower(world, made, kind, terminal, signals)
        return stay(follower, prepared, leave=args.wait)


def prepare(args: argparse.Namespace, world: World, terminal: Terminal, turn: ExitStack) -> Prepared:
    """Link → check → plan → audit → render. Raises `Refused`; warnings go to stderr.

    A run on this machine has its ports looked at, and begins, when it is its `turn`.
    """
    if args.update_lock:
        # What asks registries is imported where it is wanted.
        import_module("launcher.cli.relock").relock(args, world, terminal)
    checked = stages.accepted(arguments.request(args, args.recipe), stages.library())
    if checked.findings:
        refuse(checked.findings, terminal)
    job, words = checked.job, Asked(args.job, args.hold)
    made = plan(job, checked.adapters)
    if made.batch is None and (words.job or words.hold):
        option = "`--in`" if words.job else "`--hold`"
        raise Usage(f"{option} is about a Slurm job, and cluster `{job.cluster.name}` has no Slurm", advice=_SLURM)
    held = allocation(world, made, words)
    made = fitted(made, held)
    script = render(made, job.cluster)
    place = site(world, job.cluster, made, script, words, held)
    asked = partial(audited, job, made, {**place.slots, "run": "the run directory"})
    findings = _sound(asked(claimed(world) if made.batch is None else {}))
    if made.batch is None and not args.dry_run:
        turn.enter_context(starting(world, job.recipe.name, terminal.note))
        # Another run may have begun meanwhile.
        _sound(asked(others) if (others := claimed(world)) else [])
    if findings:
        refuse(findings, terminal)
    warnings = [] if args.dry_run else _accepted(place, job)
    if warnings:
        refuse(warnings, terminal)
    return Prepared(job, made, script, place)


def _accepted(place: Site, job: Job) -> Sequence[Diagnostic]:
    """What the scheduler warns of. Raises `Refused`, at what was written, where it would not take the run."""
    try:
        return list(place.accept())
    except Refused as error:
        raise placed(error, job) from error


def _sound(findings: Sequence[Diagnostic]) -> Sequence[Diagnostic]:
    """The warnings. Raises `Refused` where there are errors."""
    if errors(findings):
        raise Refused(list(findings))
    return findings


def contents(prepared: Prepared) -> Contents:
    """What the run directory holds before anything starts, the documents it was made from included."""
    job = prepared.job
    chains = [
        origins.chains.values() for origins in (job.origins, job.cluster_origins, *(r.origins for r in job.roles))
    ]
    sources = {origin.document.name: origin.document.text for group in chains for chain in group for origin in chain}
    text, place = document(prepared.plan, prepared.script), prepared.site
    named = None if place.where is None else job.cluster_origins.place(("runs",))
    return Contents(job.recipe.name, text, prepared.script, place.slots, sources, place.files, place.where, named)


def stay(follower: Follower, prepared: Prepared, *, leave: bool) -> int:
    """Follows the run until it is ready and says so, then, unless `leave`, until it ends."""
    ready = done = False
    try:
        ready = follower.until_ready()
        if ready:
            done = leave
            follower.terminal.say("\n".join(welcome(prepared, follower.run)))
            follower.terminal.flush()
        if not (ready and leave):
            follower.until_end()
            done = True
    finally:
        # Whatever broke in here (the reader of stdout went away): nobody follows the run any more.
        if not done:
            follower.stop("SIGHUP")
    if ready and leave:
        follower.terminal.note(
            f"`launch logs {follower.run.name} -f` follows it, `launch down {follower.run.name}` stops it"
        )
        return 0
    if follower.left:
        return follower.leave()
    end = ending.unready if leave else ending.told
    return end(follower.run, follower.terminal, follower.kind)


def welcome(prepared: Prepared, run: Run) -> Iterator[str]:
    """What runs, and how to ask it something."""
    bound: Plan = bind_known(prepared.plan, slots(str(run.path)))
    yield table(("step", "role", "url"), [(step.name, step.role, _address(bound, step)) for step in bound.steps])
    yield ""
    body = json.dumps({"model": bound.served_name, "messages": [{"role": "user", "content": "hello"}]})
    yield f"{bound.served_name} is ready at {bound.url}"
    model = prepared.job.recipe.model
    if model.path is None and model.served_name is None:
        yield f"(nobody names it: `[model] served_name` says what requests call it, else it is `{bound.served_name}`)"
    yield f"curl {bound.url}/v1/chat/completions -H 'content-type: application/json' -d {shlex.quote(body)}"


def _address(bound: Plan, step: Step) -> str:
    """Where a step is called; empty for what is not, as the other servers of a worker."""
    front = bound.url.rpartition(":")[2]
    if front in map(str, step.ports.values()):
        return bound.url
    known = {endpoint.name: endpoint.url for endpoint in bound.endpoints}
    if step.name in known or any(endpoint.role == step.role for endpoint in bound.endpoints):
        return known.get(step.name, "")
    name, port = next(iter(step.ports.items()), ("", 0))
    scheme = "http://" if name == "http" else ""
    return f"{scheme}{step.env['LAUNCH_IP']}:{port}" if port else ""


def _made(world: World, prepared: Prepared, kind: Runs, terminal: Terminal) -> Run:
    """The run directory, made and started."""
    wanted = contents(prepared)
    made = kind.adopt(wanted.plan)
    if made is not None:
        terminal.note(f"going on with {made.name}, whose `launch up` did not end")
    else:
        made = journal.create(world, wanted)
    try:
        said = kind.start(made)
    except KeyboardInterrupt:
        again = f"`launch up` of the same recipe goes on with it, `launch down {made.name}` ends it"
        terminal.note(f"whether Slurm has {made.name} is not known; {again}")
        raise
    terminal.note(f"started {made.name} in {made.path}" + (f": {said}" if said else ""))
    return made
