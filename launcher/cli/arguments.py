"""What options that several verbs share mean together."""

import argparse
import json
import os

from launcher.cli.guard import Usage
from launcher.model.duration import seconds
from launcher.model.link import Edit, Request


def cluster(args: argparse.Namespace) -> str:
    """The cluster asked for: `--cluster`, `$LAUNCH_CLUSTER`, else the built-in one."""
    return args.cluster or os.environ.get("LAUNCH_CLUSTER") or "local"


def request(args: argparse.Namespace, recipe: str) -> Request:
    """What is to be linked: `--set` and `--unset` in the order they were written."""
    return Request(recipe, cluster(args), edits=tuple(Edit(word, unset=unset) for unset, word in args.edits))


def duration(text: str) -> float:
    """`--timeout` in seconds. Raises `Usage` for what is no duration."""
    try:
        return seconds(text)
    except ValueError as error:
        raise Usage(f"`--timeout`: {error}", advice="`90s`, `45m`, `1h30m`, `01:30:00` or seconds") from error


def budget(args: argparse.Namespace) -> None:
    """`--timeout` of `up` is the last `--set`, so that the plan shows it."""
    if args.timeout is not None:
        duration(args.timeout)
        args.edits = (*args.edits, (False, f"ready.timeout={json.dumps(args.timeout)}"))
