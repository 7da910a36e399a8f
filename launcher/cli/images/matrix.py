"""`launch images matrix`: which images have to be built for which architectures, as a document for a CI service."""

import argparse

from launcher.cli.terminal import Terminal
from launcher.execute.images import changes
from launcher.execute.world import Real
from launcher.images.matrix import written


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints the document; what people should know of it is said on stderr."""
    found = changes.matrix(Real(), args.name, args.changed_since, terminal.note)
    terminal.say(written(found, args.format))
    for name in found.removed:
        terminal.note(f"`{name}` is gone since `{args.changed_since}`: nothing is built, what was pushed stays")
    images = len({job.image for job in found.jobs})
    told = f"{images} image{'s' * (images != 1)}" if images else "no image"
    terminal.note(f"{told} to build" + (f", {len(found.jobs)} jobs" if len(found.jobs) > images else ""))
    return 0
