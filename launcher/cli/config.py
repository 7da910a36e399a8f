"""`launch config path|show`: the files that make up a cluster, and what they come to."""

import argparse
from collections.abc import Sequence

import tomlkit

from launcher.cli import arguments
from launcher.cli.guard import Usage
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
    """`path` prints one file a line, lowest first; `show` the cluster as TOML, what looks like a secret masked."""
    name, named = arguments.chosen(args)
    files = Files()
    if named is None and not files.cluster(name):
        raise Usage(f"no cluster is named `{name}`", name, files.clusters(), _known(files))
    shown = _shown(files, name, named) if args.what == "show" or named else ""
    if args.what == "show":
        terminal.say(shown)
    else:
        terminal.say("\n".join(files.config_path(name)))
        if named is not None:
            terminal.note(f"`{name}` is what `{named.document.name}` names")
        folders = [SITE / "clusters", *(folder / "clusters" for folder in (config(Real().environ),) if folder)]
        terminal.note(
            f"overlaid by `{name}.toml` in {' and '.join(f'`{folder}`' for folder in folders)} where they exist"
        )
    return 0


def _shown(files: Files, name: str, named: Place | None) -> str:
    linking = Linking(files)
    found = site(linking, name, named)
    if found is None:
        raise Refused(linking.findings)
    return mask(toml(found.documents))


def toml(documents: Sequence[Document]) -> str:
    """The documents merged, as TOML; the last one wins."""
    merged = merge([Layer(LAYER, document, document.data) for document in documents])
    return tomlkit.dumps(merged.data()).rstrip("\n")


def _known(files: Files) -> str:
    return f"there are {', '.join(f'`{name}`' for name in files.clusters())}; a file is named with its `/` or `.toml`"
