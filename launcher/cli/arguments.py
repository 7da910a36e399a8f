"""What options that several verbs share mean together."""

import argparse
import json
import os
from collections.abc import Sequence

from launcher.cli.guard import Usage
from launcher.model.duration import seconds
from launcher.model.link import Request


def cluster(args: argparse.Namespace) -> str:
    """The cluster asked for: `--cluster`, `$LAUNCH_CLUSTER`, else the built-in one."""
    return args.cluster or os.environ.get("LAUNCH_CLUSTER") or "local"


def request(args: argparse.Namespace, recipe: str, sets: Sequence[str] = ()) -> Request:
    """What is to be linked; `sets` are further `--set` words, above those of the command line."""
    return Request(recipe, cluster(args), (*args.set, *sets), tuple(args.unset))


def duration(text: str) -> float:
    """`--timeout` in seconds. Raises `Usage` for what is no duration."""
    try:
        return seconds(text)
    except ValueError as error:
        raise Usage(f"`--timeout`: {error}", advice="`90s`, `45m`, `1h30m`, `01:30:00` or seconds") from error


def budget(args: argparse.Namespace) -> Sequence[str]:
    """`--timeout` of `up` as the `--set` word it is, so that the plan shows it."""
    if args.timeout is None:
        return ()
    duration(args.timeout)
    return (f"ready.timeout={json.dumps(args.timeout)}",)
