"""`launch cluster VERB`: the clusters there are, a new one, and one compared with its site.

argparse alone is imported here, so that help and completion need no verb's module.
"""

import argparse
from collections.abc import Callable, Mapping

from launcher.cli.options import document

Parser = argparse.ArgumentParser

VERBS: Mapping[str, tuple[str, str]] = {
    "ls": ("launcher.cli.clusters.ls", "list the clusters"),
    "show": ("launcher.cli.clusters.show", "show a cluster as all its files make it"),
    "init": ("launcher.cli.clusters.init", "begin a cluster file from what this site tells"),
    "doctor": ("launcher.cli.clusters.doctor", "compare a cluster file with its site, and correct it"),
}
"""Verb → the module whose `run` it is, and one line of help."""


def ls(parser: Parser) -> None:
    """`launch cluster ls`."""
    document(parser)


def show(parser: Parser) -> None:
    """`launch cluster show`."""
    _name(parser)


def init(parser: Parser) -> None:
    """`launch cluster init`."""
    parser.add_argument("name", metavar="NAME|FILE", help="the new cluster; by a name, it becomes your own file for it")
    _timeout(parser)


def doctor(parser: Parser) -> None:
    """`launch cluster doctor`."""
    _name(parser)
    parser.add_argument("--write", action="store_true", help="correct the file, comments and order kept")
    _timeout(parser)
    document(parser)


OPTIONS: Mapping[str, Callable[[Parser], None]] = {"ls": ls, "show": show, "init": init, "doctor": doctor}
"""Verb → what adds its options to a parser."""


def _name(parser: Parser) -> None:
    parser.add_argument(
        "cluster", metavar="NAME|FILE", nargs="?", help="which; default as for `launch check` without `--cluster`"
    )


def _timeout(parser: Parser) -> None:
    parser.add_argument("--timeout", metavar="TIME", help="how long a compute node is waited for; default `30s`")
