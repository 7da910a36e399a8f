"""`launch config path|show|ls`: the files that make up a cluster, what they come to, and all that can be named."""

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

import tomlkit

from launcher.cli import arguments
from launcher.cli.guard import Usage
from launcher.cli.table import table
from launcher.cli.terminal import Terminal
from launcher.execute.library import SITE, Files, config
from launcher.execute.world import Real
from launcher.model.linking import Linking
from launcher.model.merge import Layer, merge
from launcher.model.site import LAYER, site
from launcher.text.diagnostic import Place, Refused
from launcher.text.document import Document
from launcher.text.secret import mask


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """`path` prints one file a line, lowest first; `show` the cluster as TOML, what looks like a secret masked; `ls` a
    table of names.
    """
    if args.what == "ls":
        terminal.say(table(("kind", "name", "about"), list(_named(Files())), color=terminal.color_out))
        return 0
    name, named = arguments.chosen(args)
    files = Files()
    if named is None and not files.cluster(name):
        raise Usage(f"no cluster is named `{name}`", name, files.clusters(), _known(files))
    documents = _documents(files, name, named) if args.what == "show" or named else ()
    if args.what == "show":
        terminal.say(mask(toml(documents)))
        made = " under ".join(f"`{document.name}`" for document in documents)
        terminal.note(f"`{name}` is made of {made}{', whose keys count' * (len(documents) > 1)}")
    else:
        terminal.say("\n".join(files.config_path(name)))
        if named is not None:
            terminal.note(f"`{name}` is what `{named.document.name}` names")
        folders = [SITE / "clusters", *(folder / "clusters" for folder in (config(Real().environ),) if folder)]
        terminal.note(
            f"overlaid by `{name}.toml` in {' and '.join(f'`{folder}`' for folder in folders)} where they exist"
        )
    return 0


def _documents(files: Files, name: str, named: Place | None) -> Sequence[Document]:
    """The files of a cluster, lowest first. Raises Refused where they are no cluster."""
    linking = Linking(files)
    found = site(linking, name, named)
    if found is None:
        raise Refused(linking.findings)
    return found.documents


def toml(documents: Sequence[Document]) -> str:
    """The documents merged, as TOML; the last one wins."""
    merged = merge([Layer(LAYER, document, document.data) for document in documents])
    return tomlkit.dumps(merged.data()).rstrip("\n")


def _named(files: Files) -> Iterator[tuple[str, str, str]]:
    """Kind, name and a line about all that a command line, a recipe or a cluster file can name."""
    kinds: Sequence[tuple[str, Sequence[str], Callable[[str], Document | None]]] = (
        ("recipe", files.recipes(), files.recipe),
        ("manifest", files.manifests(), files.manifest),
        ("cluster", files.clusters(), lambda name: files.cluster(name)[0]),
        ("image", files.images(), lambda name: found.document if (found := files.image(name)) else None),
    )
    for kind, names, read in kinds:
        for name in names:
            try:
                document = read(name)
            except Refused as refused:
                yield kind, name, f"cannot be read: {refused.diagnostics[0].message}"
            else:
                yield kind, name, _about(document) if document else ""


def _about(document: Document) -> str:
    """What a file says it is: its `about` or `description`, else the first clause of the comment at its top."""
    about = document.data.get("about", document.data.get("description"))
    if isinstance(about, str):
        return about
    top = takewhile(lambda line: line.startswith("#"), document.text.split("\n"))
    return re.split(r"[.;](?: |$)", " ".join(line.lstrip("# ") for line in top), maxsplit=1)[0]


def _known(files: Files) -> str:
    return f"there are {', '.join(f'`{name}`' for name in files.clusters())}; a file is named with its `/` or `.toml`"
