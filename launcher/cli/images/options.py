"""Options that several verbs of `launch images` have."""

import argparse

from launcher.cli.options import choice

Parser = argparse.ArgumentParser

ARCHITECTURES = ("x86_64", "aarch64")
"""`--arch`; a test holds it to `model.cluster.ARCHITECTURES`."""

WITH = ("layers", "enroot")
"""`--with`; a test holds it to `execute.images.make.By`."""


def arguments(parser: Parser) -> None:
    """`--arg`, of what is built."""
    parser.add_argument(
        "--arg",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="arguments",
        help="a build argument, never a secret; may be repeated",
    )


def alias(parser: Parser) -> None:
    """`ALIAS`, one."""
    parser.add_argument("alias", metavar="ALIAS", help="name of the image in recipes")


def aliases(parser: Parser) -> None:
    """`ALIAS`, any number."""
    parser.add_argument("alias", metavar="ALIAS", nargs="*", help="aliases of the cluster; default: all")


def lock(parser: Parser) -> None:
    """`--lock`."""
    parser.add_argument(
        "--lock", metavar="FILE", help="default: the nearest `launch.lock` here or above, else one that is made here"
    )


def store(parser: Parser) -> None:
    """`--store`."""
    parser.add_argument(
        "--store", metavar="FOLDER", help="where image files are; default: `[store] path` of the cluster"
    )


def maker(parser: Parser) -> None:
    """`--with`, of what makes `.sqsh` files."""
    choice(parser, "--with", WITH, dest="by", help="what makes `.sqsh` files: `layers` (default), or `enroot import`")


def entry(parser: Parser) -> None:
    """What an alias is to mean, beside a reference."""
    parser.add_argument(
        "--build", metavar="NAME", help="in the place of REFERENCE: a definition, built when it is asked"
    )
    arguments(parser)
    choice(parser, "--arch", ARCHITECTURES, help="the reference is for nodes of this architecture alone")
    parser.add_argument(
        "--version",
        metavar="PROGRAM=VERSION",
        action="append",
        default=[],
        dest="versions",
        help="version of a program in the image, where nothing else tells it; may be repeated",
    )


def cluster(parser: Parser) -> None:
    """`--cluster`."""
    parser.add_argument(
        "--cluster", metavar="NAME|FILE", help="whose aliases; default as for `launch check`. A file is edited itself"
    )
