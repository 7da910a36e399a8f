"""What `add` and `set` are told of an image."""

import argparse
from collections.abc import Mapping, Sequence
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
    if args.build is not None:
        if made or args.arch:
            raise Usage("`--build` is in the place of a reference", advice="leave the other out")
        made = {"build": args.build}
    if args.arguments:
        made["args"] = arguments(args.arguments)
    return {**made, "versions": versions} if versions else made


def arguments(words: Sequence[str]) -> dict[str, str]:
    """`--arg NAME=VALUE …` as a table. Raises Usage."""
    found = {}
    for word in words:
        name, said, value = word.partition("=")
        if not (name and said):
            raise Usage(f"`--arg` does not take `{word}`", advice="`--arg SMG_VERSION=1.13.0`")
        found[name] = value
    return found
