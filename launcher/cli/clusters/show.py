"""`launch cluster show`: a cluster as all its files make it, in TOML."""

import argparse

from launcher.cli import config
from launcher.cli.terminal import Terminal


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """What looks like a secret is masked."""
    args.what = "show"
    return config.run(args, terminal)
