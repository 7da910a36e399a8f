"""`launch up --update-lock`: the images of a recipe locked as they are now, before it is linked for good."""

import argparse
from dataclasses import replace

from launcher.cli import arguments
from launcher.cli.terminal import Terminal
from launcher.execute.images import aliases, locks
from launcher.execute.library import Files
from launcher.execute.world import World
from launcher.images import locking
from launcher.model.link import link
from launcher.text.diagnostic import Refused


def relock(args: argparse.Namespace, world: World, terminal: Terminal) -> None:
    """Writes the project's lock. Raises Refused for what cannot be linked, or found out about."""
    library = Files()
    request = replace(arguments.request(args, args.recipe), relock=True)
    job = link(library, request)
    used = dict.fromkeys(role.image for role in job.roles if role.image is not None and role.reference is not None)
    if not used or job.cluster.runtime == "none":
        return
    site = aliases.read(request.cluster, request.named)
    file = library.lock_path()
    wanted = locks.wanted(site, tuple(used), lock=locks.read(file))
    found, findings = locks.asked(world, site, wanted, hashed=True, told=terminal.status)
    if findings:
        raise Refused(findings)
    locks.write(world, file, lambda old: locking.merged(old, found), terminal.note)
    terminal.note(f"{', '.join(f'`{each.alias}`' for each in found)} locked in `{file}`")
