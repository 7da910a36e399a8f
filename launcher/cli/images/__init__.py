"""`launch images VERB`: names of images on a cluster, and what they stand for.

argparse alone is imported here, so that help and completion need no verb's module.
"""

import argparse
from collections.abc import Callable, Mapping
from typing import Any

Parser = argparse.ArgumentParser

VERBS: Mapping[str, tuple[str, str]] = {
    "ls": ("launcher.cli.images.ls", "list the aliases of a cluster"),
    "show": ("launcher.cli.images.show", "show what an alias, or any reference, means on a cluster"),
    "add": ("launcher.cli.images.add", "give a reference a new alias"),
    "set": ("launcher.cli.images.set", "let an alias mean something else"),
    "rm": ("launcher.cli.images.rm", "take an alias away"),
    "lock": ("launcher.cli.images.lock", "write down what the aliases are now, in `launch.lock`"),
    "verify": ("launcher.cli.images.verify", "hold registries and files against the lock, files to the byte"),
    "diff": ("launcher.cli.images.diff", "show what changed since the images were locked"),
}
"""Verb → the module whose `run` it is, and one line of help."""

ARCHITECTURES = ("x86_64", "aarch64")
"""`--arch`; a test holds it to `model.cluster.ARCHITECTURES`."""


def ls(parser: Parser) -> None:
    """`launch images ls`."""
    _cluster(parser)
    _json(parser)


def show(parser: Parser) -> None:
    """`launch images show`."""
    parser.add_argument("alias", metavar="ALIAS|REFERENCE", help="an alias of the cluster, or any reference")
    _cluster(parser)
    _json(parser)


def add(parser: Parser) -> None:
    """`launch images add`."""
    _alias(parser)
    parser.add_argument("reference", metavar="REFERENCE", help="registry reference, or path of an image file")
    _entry(parser)
    _cluster(parser)


def set_(parser: Parser) -> None:
    """`launch images set`."""
    _alias(parser)
    parser.add_argument(
        "reference", metavar="REFERENCE", nargs="?", help="registry reference, or path; default: what it has"
    )
    _entry(parser)
    _cluster(parser)


def rm(parser: Parser) -> None:
    """`launch images rm`."""
    _alias(parser)
    _cluster(parser)


def lock(parser: Parser) -> None:
    """`launch images lock`."""
    _aliases(parser)
    _cluster(parser)
    _lock(parser)


def verify(parser: Parser) -> None:
    """`launch images verify`."""
    _aliases(parser)
    _cluster(parser)
    _lock(parser)


def diff(parser: Parser) -> None:
    """`launch images diff`."""
    _aliases(parser)
    _cluster(parser)
    _lock(parser)


OPTIONS: Mapping[str, Callable[[Parser], None]] = {
    "ls": ls,
    "show": show,
    "add": add,
    "set": set_,
    "rm": rm,
    "lock": lock,
    "verify": verify,
    "diff": diff,
}
"""Verb → what adds its options to a parser."""


def _alias(parser: Parser) -> None:
    parser.add_argument("alias", metavar="ALIAS", help="name of the image in recipes")


def _aliases(parser: Parser) -> None:
    parser.add_argument("alias", metavar="ALIAS", nargs="*", help="aliases of the cluster; default: all")


def _lock(parser: Parser) -> None:
    parser.add_argument(
        "--lock", metavar="FILE", help="default: the nearest `launch.lock` here or above, else one that is made here"
    )


def _entry(parser: Parser) -> None:
    _choice(parser, "--arch", ARCHITECTURES, help="the reference is for nodes of this architecture alone")
    parser.add_argument(
        "--version",
        metavar="PROGRAM=VERSION",
        action="append",
        default=[],
        dest="versions",
        help="version of a program in the image, where nothing else tells it; may be repeated",
    )


def _cluster(parser: Parser) -> None:
    parser.add_argument(
        "--cluster", metavar="NAME|FILE", help="whose aliases; default as for `launch check`. A file is edited itself"
    )


def _json(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON document")


def _choice(parser: Any, name: str, choices: tuple[str, ...], **more: Any) -> None:
    parser.add_argument(name, choices=choices, metavar="|".join(choices), **more)
