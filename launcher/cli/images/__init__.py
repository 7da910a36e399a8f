"""`launch images VERB`: names of images on a cluster, and what they stand for.

argparse alone is imported here, so that help and completion need no verb's module.
"""

import argparse
from collections.abc import Callable, Mapping

from launcher.cli.images import options
from launcher.cli.options import choice, document, edits

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
    "matrix": ("launcher.cli.images.matrix", "list what has to be built since a revision, for jobs of CI"),
    "build": ("launcher.cli.images.build", "build definitions, push what came of them, or make image files"),
    "publish": ("launcher.cli.images.publish", "give images that were built and pushed a tag that moves: a channel"),
    "pull": ("launcher.cli.images.pull", "make image files of a cluster's aliases, in its store"),
    "ensure": ("launcher.cli.images.ensure", "make the image file of one reference where there is none; for scripts"),
    "bake": ("launcher.cli.images.bake", "put preambles into images, so that runs start without them"),
    "du": ("launcher.cli.images.du", "list the image files of the store"),
    "prune": ("launcher.cli.images.prune", "take image files away, those used least recently first"),
}
"""Verb → the module whose `run` it is, and one line of help."""

FORMATS = ("json", "github", "gitlab", "names")
"""`matrix --format`; a test holds it to `launcher.images.matrix.FORMATS`."""

BAKERS = ("slurm", "apptainer", "docker")
"""`bake --with`: who bakes; a test holds it to `execute.images.baking.How`."""

BUILDERS = ("docker", "layers", "apptainer")
"""`images build --with`; a test holds it to `execute.images.build.Builder`."""


def ls(parser: Parser) -> None:
    """`launch images ls`."""
    options.cluster(parser)
    document(parser)


def show(parser: Parser) -> None:
    """`launch images show`."""
    parser.add_argument("alias", metavar="ALIAS|REFERENCE", help="an alias of the cluster, or any reference")
    options.cluster(parser)
    document(parser)


def add(parser: Parser) -> None:
    """`launch images add`."""
    options.alias(parser)
    parser.add_argument(
        "reference", metavar="REFERENCE", nargs="?", help="registry reference, or path of an image file"
    )
    options.entry(parser)
    options.cluster(parser)


def set_(parser: Parser) -> None:
    """`launch images set`."""
    options.alias(parser)
    parser.add_argument(
        "reference", metavar="REFERENCE", nargs="?", help="registry reference, or path; default: what it has"
    )
    options.entry(parser)
    options.cluster(parser)


def rm(parser: Parser) -> None:
    """`launch images rm`."""
    options.alias(parser)
    options.cluster(parser)


def locked(parser: Parser) -> None:
    """`launch images lock`, `verify` and `diff`."""
    options.aliases(parser)
    options.cluster(parser)
    options.lock(parser)


def matrix(parser: Parser) -> None:
    """`launch images matrix`."""
    parser.add_argument("name", metavar="NAME", nargs="*", help="definitions; default: all of the project's `images/`")
    parser.add_argument(
        "--changed-since",
        metavar="REV",
        help="only those that changed since the branch left this commit, branch or tag, uncommitted changes included",
    )
    parser.add_argument("--unless-in", metavar="PLACE", help="leave out what this registry has: `ghcr.io/team/images`")
    options.cluster(parser)
    form = parser.add_mutually_exclusive_group()
    choice(
        form,
        "--format",
        FORMATS,
        default="json",
        help="`github`: for `strategy.matrix`; `gitlab`: a file of a child pipeline; `names`: a line each; default "
        "`json`",
    )
    form.add_argument("--json", action="store_const", const="json", dest="format", help="the same as `--format json`")


def build(parser: Parser) -> None:
    """`launch images build`."""
    parser.add_argument(
        "alias", metavar="NAME", nargs="+", help="a definition (`launch config ls` lists them), or an alias that is one"
    )
    options.cluster(parser)
    choice(
        parser, "--arch", options.ARCHITECTURES, help="of the nodes; default: as the cluster says, else this machine's"
    )
    options.arguments(parser)
    parser.add_argument("--base", metavar="REFERENCE", help="the image to begin with, in the place of the definition's")
    choice(
        parser,
        "--with",
        BUILDERS,
        dest="builder",
        help="what builds; default: `layers` for what only copies files, `apptainer` where that runs containers and "
        "nothing is pushed, else `docker`: Docker, or what speaks as it does",
    )
    parser.add_argument("--wheels", metavar="FOLDER", help="pip installs from this folder, and asks no index")
    parser.add_argument("--network", metavar="NAME", help="network of the steps of a build: `host`, `none`, …")
    parser.add_argument(
        "--push", metavar="REFERENCE|PLACE", help="push it there; without a tag at the end, under `/NAME:TAG` of there"
    )
    parser.add_argument(
        "--tag", metavar="TAG", action="append", default=[], dest="tags", help="default: version and key; repeatable"
    )
    options.store(parser)
    options.lock(parser)
    parser.add_argument("--set", action="store_true", dest="adopt", help="let the aliases mean what was built")
    parser.add_argument("--again", action="store_true", help="build also what is there already, without a cache")
    parser.add_argument("--dry-run", action="store_true", help="say what would be built, and on which base")
    document(parser)


def publish(parser: Parser) -> None:
    """`launch images publish`."""
    parser.add_argument("channel", metavar="CHANNEL", help="the tag that they are given: `main`, `pr-7`")
    parser.add_argument("name", metavar="NAME", nargs="*", help="definitions; default: all of the project's `images/`")
    parser.add_argument(
        "--in", metavar="PLACE", required=True, dest="place", help="where they were pushed: `ghcr.io/team/images`"
    )
    options.cluster(parser)


def pull(parser: Parser) -> None:
    """`launch images pull`."""
    options.aliases(parser)
    options.cluster(parser)
    options.store(parser)
    options.maker(parser)
    parser.add_argument("--set", action="store_true", dest="adopt", help="let the aliases mean the files")
    parser.add_argument("--dry-run", action="store_true", help="say what would be made, and how much would come")


def ensure(parser: Parser) -> None:
    """`launch images ensure`."""
    parser.add_argument("reference", metavar="ALIAS|REFERENCE", help="an alias of the cluster, or any reference")
    choice(parser, "--arch", options.ARCHITECTURES, help="of the nodes; default: as the cluster says")
    parser.add_argument("--print-path", action="store_true", help="print the path and nothing else")
    options.cluster(parser)
    options.store(parser)
    options.maker(parser)


def bake(parser: Parser) -> None:
    """`launch images bake`."""
    words = "a recipe, all roles of which that have a preamble; or a role manifest alone"
    parser.add_argument("recipe", metavar="RECIPE|ROLE", nargs="+", help=words)
    parser.add_argument(
        "--role", metavar="NAME", action="append", default=[], help="this role of the recipe alone; may be repeated"
    )
    words = "`slurm`: a small job on a compute node; `apptainer`, `docker`: here; default: as the cluster has it"
    choice(parser, "--with", BAKERS, dest="how", help=words)
    words = "bake by Docker, or what speaks as it does, and push; the tag is ours"
    parser.add_argument("--push", metavar="REPOSITORY", help=words)
    words = "how long each preamble may take: `20m`, `2h`; default: `[store.job] time` of the cluster, which is 1h"
    parser.add_argument("--timeout", metavar="TIME", help=words)
    parser.add_argument("--force", action="store_true", help="bake anew what is there: for newer packages")
    parser.add_argument("--dry-run", action="store_true", help="say what would be baked")
    options.cluster(parser)
    edits(parser)
    options.store(parser)
    document(parser)
    parser.set_defaults(simulate=False)


def du(parser: Parser) -> None:
    """`launch images du`."""
    options.cluster(parser)
    options.store(parser)
    document(parser)


def prune(parser: Parser) -> None:
    """`launch images prune`."""
    parser.add_argument("--max-size", metavar="SIZE", help="how much may stay: `500G`; without it only remains go")
    parser.add_argument("--keep-locked", action="store_true", help="keep what `launch.lock` has, whatever the size")
    parser.add_argument("--dry-run", action="store_true", help="say what would go")
    options.cluster(parser)
    options.store(parser)
    options.lock(parser)


OPTIONS: Mapping[str, Callable[[Parser], None]] = {
    "ls": ls,
    "show": show,
    "add": add,
    "set": set_,
    "rm": rm,
    "lock": locked,
    "verify": locked,
    "diff": locked,
    "matrix": matrix,
    "build": build,
    "publish": publish,
    "pull": pull,
    "ensure": ensure,
    "bake": bake,
    "du": du,
    "prune": prune,
}
"""Verb → what adds its options to a parser."""
