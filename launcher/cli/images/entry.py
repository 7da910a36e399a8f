"""What `add` and `set` are told of an image."""

import argparse
from collections.abc import Mapping
from typing import Any

from launcher.cli.guard import Usage


def entry(args: argparse.Namespace) -> Mapping[str, Any]:
    """The keys of the alias's table that the command line sets. Raises Usage."""
    versions = {}
    for word in args.versions:
        program, found, version = word.partition("=")
        if not (program and found and version):
            raise Usage(f"`--version` does not take `{word}`", advice="`--version vllm=0.33.0`")
        versions[program] = version
    key = args.arch or "reference"
    made: dict[str, Any] = {key: args.reference} if args.reference is not None else {}
    return {**made, "versions": versions} if versions else made
