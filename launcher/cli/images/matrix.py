"""`launch images matrix`: which images have to be built for which architectures, as a document for a CI service."""

import argparse
from dataclasses import replace

from launcher.cli.guard import Usage
from launcher.cli.images import storing
from launcher.cli.terminal import Terminal
from launcher.execute.images import answers, changes, channels
from launcher.execute.images.failure import Failure
from launcher.execute.world import Real
from launcher.images.matrix import Matrix, written


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints the document; what people should know of it is said on stderr."""
    found = changes.matrix(Real(), args.name, args.changed_since, terminal.note)
    if args.unless_in is not None and found.jobs:
        found = _missing(args, found, terminal)
    if args.format != "names" or found.jobs:
        terminal.say(written(found, args.format))
    for name in found.removed:
        terminal.note(f"`{name}` is gone since `{args.changed_since}`: nothing is built, what was pushed stays")
    terminal.note(_told(found, compared=args.changed_since is not None or args.unless_in is not None))
    return 0


def _told(found: Matrix, *, compared: bool) -> str:
    images = len({job.image for job in found.jobs})
    told = f"{images} image{'s' * (images != 1)}" if images else "no image"
    more = f", {len(found.jobs)} jobs" if len(found.jobs) > images else ""
    return f"{told} to build{more}" if compared else f"{told}{more}"


def _missing(args: argparse.Namespace, found: Matrix, terminal: Terminal) -> Matrix:
    registry = answers.registry(frozenset(storing.site(args).cluster.plain_http))
    try:
        return replace(found, jobs=channels.missing(registry, found.jobs, args.unless_in, terminal.note))
    except ValueError as error:
        raise Usage(f"`--unless-in`: {error}", advice="a registry, or a namespace in one: `ghcr.io/team`") from error
    except Failure as failure:
        raise storing.failed(failure) from failure
