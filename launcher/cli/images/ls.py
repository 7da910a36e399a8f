"""`launch images ls`: the aliases of a cluster."""

import argparse
import json

from launcher.cli import arguments
from launcher.cli.images.builds import Builds
from launcher.cli.table import table
from launcher.cli.terminal import Terminal
from launcher.execute.images import aliases
from launcher.images.meaning import meaning
from launcher.model.cluster import ARCHITECTURES, Cluster, Image
from launcher.text.advice import typed


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """A line for each alias and architecture; what the cluster cannot use is marked."""
    name, place = arguments.chosen(args)
    found = aliases.read(name, place)
    cluster = found.cluster
    if args.json:
        listed = {alias: _entry(image) for alias, image in cluster.images.items()}
        terminal.say(json.dumps({"schema": 1, "cluster": cluster.name, "images": listed}, indent=2))
        return 0
    lock = Builds.of(found)
    rows = [row for alias, image in sorted(cluster.images.items()) for row in _rows(alias, image, cluster, lock)]
    if rows:
        terminal.say(table(("alias", "arch", "reference", "versions", ""), rows, color=terminal.color_out))
    else:
        add = typed("images add ALIAS REFERENCE", found.option)
        terminal.note(f"cluster `{cluster.name}` has no image aliases; {add} makes one")
    return 0


def _entry(image: Image) -> dict[str, object]:
    return image.model_dump(exclude_defaults=True)


def _rows(alias: str, image: Image, cluster: Cluster, lock: Builds) -> list[tuple[str, ...]]:
    versions = ", ".join(f"{program} {version}" for program, version in sorted(image.versions.items()))
    found: list[tuple[str, ...]] = []
    if image.build is not None:
        args = "".join(f" {name}={value}" for name, value in sorted(image.args.items()))
        found.append((alias, "", f"definition {image.build}{args}", versions or lock.has(alias), lock.said(alias)))
    for key in ("reference", *ARCHITECTURES):
        text = getattr(image, key)
        if text is not None:
            fault = meaning(text, cluster).fault
            derived = image.baked and image.baked.image == text
            note = f"unusable here: {fault}" if fault else "baked" if derived else ""
            found.append((alias, "" if key == "reference" else key, text, versions, note))
    return found
