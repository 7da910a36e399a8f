"""`launch images ensure REF`: the image file of a reference, made where there is none."""

import argparse

from launcher.cli.guard import Usage
from launcher.cli.images import storing
from launcher.cli.terminal import Terminal
from launcher.execute.images.failure import Failure


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints the path on stdout; everything else is said on stderr."""
    site = storing.site(args)
    arch = args.arch or site.cluster.arch
    if arch is None:
        raise Usage("nobody says for which nodes the image is", advice="`--arch`, or `arch` in the cluster file")
    wanted = storing.meant(args.reference, site, arch)
    store = storing.store(args, site, terminal)
    try:
        with storing.interruptible():
            path = store.ensure(wanted, arch)
    except Failure as failure:
        raise storing.failed(failure) from failure
    terminal.say(str(path))
    if not args.print_path:
        terminal.note(f"`{wanted}` for {arch}")
    return 0
