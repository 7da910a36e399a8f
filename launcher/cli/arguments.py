"""What options that several verbs share mean together."""

import argparse
import json
import os

from launcher.cli.guard import Usage
from launcher.execute.library import Files
from launcher.model.config import default
from launcher.model.duration import seconds
from launcher.model.link import Edit, Request
from launcher.model.linking import Linking
from launcher.text.diagnostic import Place
from launcher.text.document import Document

VARIABLE = "LAUNCH_CLUSTER"
"""The variable of the shell that names the cluster where the command line does not."""

BUILT_IN = "local"
"""The cluster where nobody names one: this machine."""


def cluster(args: argparse.Namespace) -> str:
    """The cluster asked for. Raises Refused."""
    return chosen(args)[0]


def chosen(args: argparse.Namespace) -> tuple[str, Place | None]:
    """The cluster asked for: `--cluster`, `$LAUNCH_CLUSTER`, the configured one, else the built-in one.

    With it comes the place that names it, but for the command line. Raises Refused for a `config.toml` that is wrong.
    """
    if args.cluster:
        return args.cluster, None
    if named := os.environ.get(VARIABLE):
        return named, Place(Document(f"${VARIABLE}", named, {}), offset=0, length=len(named))
    files = Files()
    found = default(Linking(files), files.config())
    if found is None:
        return BUILT_IN, None
    return files.beside(found.place.document, found.cluster), found.place


def request(args: argparse.Namespace, recipe: str) -> Request:
    """What is to be linked: `--set` and `--unset` in the order they were written."""
    name, place = chosen(args)
    edits = tuple(Edit(word, unset=unset) for unset, word in args.edits)
    return Request(recipe, name, edits=edits, named=place, simulate=args.simulate)


def duration(text: str) -> float:
    """`--timeout` in seconds. Raises `Usage` for what is no duration."""
    try:
        return seconds(text)
    except ValueError as error:
        raise Usage(f"`--timeout`: {error}", advice="`90s`, `45m`, `1h30m`, `01:30:00` or seconds") from error


def patience(args: argparse.Namespace, default: float) -> float:
    """`--timeout` in seconds, or the default. Raises `Usage`."""
    return default if args.timeout is None else duration(args.timeout)


def budget(args: argparse.Namespace) -> None:
    """`--timeout` of `up` is the last `--set`, so that the plan shows it."""
    if args.timeout is not None:
        duration(args.timeout)
        args.edits = (*args.edits, (False, f"ready.timeout={json.dumps(args.timeout)}"))
