"""`launch images bake RECIPE|ROLE…`: preambles put into images, so that runs start without them."""

import argparse
import json
from importlib import import_module
from typing import Any

from launcher.cli import arguments
from launcher.cli.guard import Failed, Usage
from launcher.cli.images import ordering, storing
from launcher.cli.images.ordering import Order
from launcher.cli.table import table
from launcher.cli.terminal import Terminal
from launcher.execute.images import aliases, answers, locks
from launcher.execute.images.baking import Baked, How, Oven
from launcher.execute.images.failure import Failure
from launcher.execute.world import Real, World
from launcher.images import locking
from launcher.images.reference import Reference, parse
from launcher.model import timelimit
from launcher.model.cluster import Cluster, StoreJob
from launcher.model.site import Site
from launcher.text.diagnostic import Refused


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Bakes each preamble once, points the aliases at what was made, and says so; nothing of a failed one stays."""
    site = storing.site(args)
    orders = ordering.orders(args, site)
    try:
        with storing.interruptible():
            oven = _docker(args, site, terminal) if args.push or args.how == "docker" else _oven(args, site, terminal)
            rows = [_row(order, _done(args, oven, order, terminal)) for order in orders]
    except Failure as failure:
        raise _failed(failure) from failure
    if args.json:
        terminal.say(json.dumps({"schema": 1, "cluster": site.cluster.name, "baked": rows}, indent=2))
    else:
        cells = [(row["alias"], ", ".join(row["roles"]), row["image"], row["state"]) for row in rows]
        terminal.say(table(("alias", "roles", "image", ""), cells, color=terminal.color_out))
    return 0


def _oven(args: argparse.Namespace, site: Site, terminal: Terminal) -> Oven:
    store = storing.store(args, site, terminal)
    how = _how(args, site.cluster)
    return Oven(store.world, store, site.cluster, how, _limit(args, site.cluster), terminal.note, terminal.status)


def _limit(args: argparse.Namespace, cluster: Cluster) -> float:
    """Seconds that a preamble may take."""
    return arguments.patience(args, timelimit.seconds((cluster.store.job if cluster.store else StoreJob()).time))


def _docker(args: argparse.Namespace, site: Site, terminal: Terminal) -> Any:
    """What bakes by Docker, whose client takes long to import. Raises Usage and Failure."""
    if args.push is None or args.how not in (None, "docker"):
        message = "Docker pushes what it bakes: `--with docker` and `--push REPOSITORY` go together"
        raise Usage(message, advice="`--push ghcr.io/me/baked`, or leave both out: a small job on a compute node bakes")
    try:
        goal = parse(args.push)
    except ValueError as error:
        raise Usage(f"`--push`: {error}", advice="`ghcr.io/me/baked`") from error
    if not isinstance(goal, Reference) or goal.digest or goal.tag not in (None, "latest"):
        raise Usage(f"`--push` takes a repository, not `{args.push}`", advice="its tag tells what was baked")
    world, limit = Real(), _limit(args, site.cluster)
    daemon = import_module("launcher.execute.images.daemon").connect(world)
    registry = answers.registry(frozenset(site.cluster.plain_http))
    make = import_module("launcher.execute.images.docking").Dock
    return make(world, daemon, registry, site.cluster, goal, limit, terminal.note, terminal.status)


def _how(args: argparse.Namespace, cluster: Cluster) -> How:
    """In a job, unless the cluster has none or somebody wants it here. Raises Usage."""
    how: How = args.how or ("apptainer" if cluster.scheduler == "local" else "slurm")
    if how == "apptainer" and cluster.runtime != "apptainer":
        message = f"cluster `{cluster.name}` starts no containers by Apptainer"
        raise Usage(message, advice="leave `--with` out: a small job on a compute node bakes")
    if how == "slurm" and cluster.scheduler == "local":
        raise Usage(f"cluster `{cluster.name}` has no Slurm", advice="`--with apptainer`")
    return how


def _done(args: argparse.Namespace, oven: Any, order: Order, terminal: Terminal) -> Baked | str:
    """What was baked; where nothing is to be done, the path that it would have."""
    role = order.roles[0]
    if args.dry_run:
        return str(oven.path(role, order.base, order.setup))
    baked: Baked = oven.bake(role, order.base, order.setup, again=args.force)
    _point(args, oven.world, order, baked, terminal)
    _relock(args, oven.world, order, terminal)
    return baked


def _point(args: argparse.Namespace, world: World, order: Order, baked: Baked, terminal: Terminal) -> None:
    """Lets the alias mean what was baked, unless it does."""
    env = [f"{name}={value}" for name, value in baked.env.items()]
    told = {"image": baked.image, "base": order.base, "setup": order.setup, "env": env}
    entry = {order.key: baked.image, "versions": order.image.versions, "baked": told}
    if order.image.baked is not None and order.image.baked.model_dump() == told and order.current == baked.image:
        return
    goal = aliases.target(world, arguments.cluster(args))
    aliases.change(world, goal, order.alias, entry, terminal.note)
    terminal.note(f"`{order.alias}` is `{baked.image}` in `{goal.file}`")
    for other in order.others:
        terminal.note(f"role `{other}` has the same alias, and starts from that image too")


def _relock(args: argparse.Namespace, world: World, order: Order, terminal: Terminal) -> None:
    """A lock that has the alias has it as it is now: otherwise it would refuse the next run."""
    file, site = order.lock, storing.site(args)
    held = locks.read(file)
    if held is None or not any((each.cluster, each.alias) == (site.cluster.name, order.alias) for each in held.image):
        return
    found, findings = locks.asked(world, site, locks.wanted(site, (order.alias,)), hashed=True, told=terminal.status)
    if findings:
        raise Refused(findings)
    locks.write(world, file, lambda old: locking.merged(old, found), terminal.note)
    terminal.note(f"`{order.alias}` locked in `{file}`")


def _row(order: Order, done: Baked | str) -> dict[str, Any]:
    made = isinstance(done, Baked)
    state = "would be baked" if not isinstance(done, Baked) else "baked" if done.made else "was baked before"
    return {
        "alias": order.alias,
        "roles": [role.name for role in order.roles],
        "base": order.base,
        "image": done.image if isinstance(done, Baked) else done,
        "setup": order.setup,
        "exports": sorted(done.env) if isinstance(done, Baked) and made else [],
        "state": state,
    }


def _failed(failure: Failure) -> Failed:
    if failure.kind == "faulty":
        return Failed("bake-failed", failure.message, failure.advice, 4)
    return storing.failed(failure)
