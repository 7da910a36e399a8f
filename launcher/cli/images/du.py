"""`launch images du`: the image files of a store."""

import argparse
import json
import time

from launcher.cli.images import storing
from launcher.cli.table import table
from launcher.cli.terminal import Terminal
from launcher.execute.images import remains


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """A line for each file, and how much they are together."""
    store = storing.store(args, storing.site(args), terminal)
    files = list(store.all())
    if args.json:
        shown = [{"path": str(each.path), "size": each.size, "used": int(each.used), **each.facts} for each in files]
        terminal.say(json.dumps({"schema": 1, "store": str(store.folder), "files": shown}, indent=2))
        return 0
    rows = [
        (
            each.path.name,
            storing.size(each.size),
            str(each.facts.get("arch", "")),
            time.strftime("%Y-%m-%d", time.localtime(each.used)),
            str(each.facts.get("reference", "")),
        )
        for each in files
    ]
    if rows:
        terminal.say(table(("file", "size", "arch", "used", "reference"), rows, color=terminal.color_out))
    count, left = len(files), sum(map(remains.size, remains.left(store.folder)))
    size = storing.size(sum(each.size for each in files))
    terminal.note(f"{count} file{'s' * (count != 1)}, {size} in `{store.folder}`")
    if left:
        terminal.note(f"{storing.size(left)} more are of what is under way, or was cut short and is gone on with")
    return 0
