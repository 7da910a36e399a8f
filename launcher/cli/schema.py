"""`launch schema NAME`: the JSON Schema of a kind of file, for editors."""

import argparse
import json

from launcher.cli.terminal import Terminal
from launcher.model.schema import schemas


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints the schema as one JSON document."""
    terminal.say(json.dumps(schemas()[args.name], indent=2, ensure_ascii=False))
    return 0
