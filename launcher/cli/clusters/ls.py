"""`launch cluster ls`: the clusters there are, and which one is meant where nobody names one."""

import argparse
import json
from collections.abc import Sequence

from launcher.cli import arguments
from launcher.cli.table import table
from launcher.cli.terminal import Terminal
from launcher.execute.library import Files
from launcher.model.linking import Linking
from launcher.model.site import Site, site
from launcher.run.record import record

SCHEMA = 1


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Broken ones are listed as well: what is wrong with them `launch cluster show` tells."""
    args.cluster = None
    chosen = arguments.cluster(args)
    found = [_listed(name) for name in Files().clusters()]
    if args.json:
        terminal.say(json.dumps({"schema": SCHEMA, "clusters": [_data(each, chosen) for each in found]}, indent=1))
        return 0
    terminal.say(table(_HEADER, [_row(each, chosen) for each in found], color=terminal.color_out))
    if chosen not in {each.name for each in found}:
        terminal.note(f"the default is `{chosen}`")
    return 0


@record
class Listed:
    """A cluster by its name: as it is read, or None and how many findings there are."""

    name: str
    site: Site | None
    findings: int
    files: Sequence[str]


_HEADER = ("cluster", "runtime", "scheduler", "GPUs", "images", "files", "")


def _listed(name: str) -> Listed:
    files = Files()
    linking = Linking(files)
    found = site(linking, name)
    documents = [] if found is None else [document.name for document in found.documents]
    return Listed(name, found, len(linking.findings), documents)


def _row(each: Listed, chosen: str) -> Sequence[str]:
    mark = "default" if each.name == chosen else ""
    if each.site is None:
        wrong = f"broken: `launch cluster show {each.name}`"
        return (each.name, "", "", "", "", wrong, mark)
    cluster = each.site.cluster
    gpus = f"{cluster.node.gpus} {cluster.node.gpu or ''}".strip() if cluster.node.gpus else ""
    images = str(len(cluster.images)) if cluster.images else ""
    return (each.name, cluster.runtime, cluster.scheduler, gpus, images, ", ".join(each.files), mark)


def _data(each: Listed, chosen: str) -> dict[str, object]:
    known = None if each.site is None else each.site.cluster
    return {
        "name": each.name,
        "default": each.name == chosen,
        "findings": each.findings,
        "files": list(each.files),
        "runtime": known and known.runtime,
        "scheduler": known and known.scheduler,
        "gpus": known and known.node.gpus,
        "images": known and sorted(known.images),
    }
