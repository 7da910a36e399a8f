"""`launch images show ALIAS|REFERENCE`: what is meant, both ways, and which registry is asked."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from launcher.cli import arguments
from launcher.cli.images import storing
from launcher.cli.images.builds import Builds
from launcher.cli.terminal import Terminal
from launcher.execute.images import aliases, inspect, sif
from launcher.execute.images.failure import Failure
from launcher.execute.world import Real
from launcher.images.meaning import Meaning, meaning
from launcher.model.cluster import ARCHITECTURES, Image
from launcher.model.site import Site
from launcher.text.diagnostic import Diagnostic, Refused
from launcher.text.suggest import nearest


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """The alias, or the reference itself where no alias is called so; exit code 4 where the cluster cannot use it."""
    name, place = arguments.chosen(args)
    found = aliases.read(name, place)
    if (image := found.cluster.images.get(args.alias)) is not None and image.build is not None:
        return _definition(args, terminal, found)
    meant = {key: meaning(text, found.cluster) for key, text in _texts(args.alias, found).items()}
    if args.json:
        shown = {key: _document(each) for key, each in meant.items()}
        terminal.say(json.dumps({"schema": 1, "cluster": found.cluster.name, "image": shown}, indent=2))
    else:
        terminal.say("\n\n".join("\n".join(_lines(args.alias, key, each, found)) for key, each in meant.items()))
    return 4 if any(each.fault for each in meant.values()) else 0


def _definition(args: argparse.Namespace, terminal: Terminal, found: Site) -> int:
    """An alias that is a definition."""
    rows = [
        ("alias", args.alias),
        *Builds.of(found).rows(args.alias),
        ("written in", _where(args.alias, "build", found)),
    ]
    if args.json:
        shown = {"build": [{"key": key, "value": value} for key, value in rows]}
        terminal.say(json.dumps({"schema": 1, "cluster": found.cluster.name, "image": shown}, indent=2))
    else:
        terminal.say("\n".join(f"{name:<10}  {value}" for name, value in rows))
    return 0


def _texts(word: str, found: Site) -> dict[str, str]:
    image = found.cluster.images.get(word) or _reference(word, found)
    return {key: text for key in ("reference", *ARCHITECTURES) if (text := getattr(image, key)) is not None}


def _reference(word: str, found: Site) -> Image:
    """A word that is no alias: an alias that was meant is asked about, anything else is a reference."""
    like = nearest(word, found.cluster.images)
    if like is not None and not any(letter in word for letter in "/:#@"):
        message = f"cluster `{found.cluster.name}` has no image alias `{word}`"
        raise Refused([Diagnostic("unknown-image", message, None, help=f"did you mean `{like}`?", exit=2)])
    return Image(reference=word)


def _lines(alias: str, key: str, each: Meaning, found: Site) -> Iterator[str]:
    image = found.cluster.images.get(alias)
    rows = [("alias", alias)] if image else []
    rows += [] if key == "reference" else [("for", key)]
    rows += [("reference", each.written), ("kind", each.kind), *each.words]
    if each.registry:
        rows.append(("registry", each.registry))
    rows += _file(each, image)
    derived = image.derived(found.cluster.arch) if image else None
    if derived is not None and getattr(image, key) == derived.image:
        rows.append(("baked from", derived.base))
    if image:
        rows += [("versions", f"{program} {version}") for program, version in sorted(image.versions.items())]
        rows.append(("written in", _where(alias, key, found)))
    if each.fault:
        rows.append(("unusable", each.fault))
    yield from (f"{name:<10}  {value}" for name, value in rows)


def _file(each: Meaning, image: Image | None) -> Iterator[tuple[str, str]]:
    """What lies there, where it is a file that is seen here."""
    if not each.written.startswith("/") or (image is not None and image.where == "compute"):
        return
    try:
        found = inspect.file(Path(each.written))
    except Failure as failure:
        yield "file", failure.message
        return
    head = found.header
    arch = f", {head.arch}" if head.arch else ""
    yield "file", f"{head.kind}, {storing.size(found.size)}, {head.compressor}{arch}"
    told = sif.inspect(Real(), found.path) if head.kind == "sif" else None
    for name, label in _LABELS if told is not None else ():
        if told is not None and label in told.labels:
            yield name, told.labels[label]


_LABELS = (
    ("built", "org.label-schema.build-date"),
    ("from", "org.label-schema.usage.singularity.deffile.from"),
    ("by", "org.label-schema.usage.apptainer.version"),
)
"""What Apptainer notes of a build."""


def _where(alias: str, key: str, found: Site) -> str:
    path = ("images", alias, key)
    place = found.origins.place(path if path in found.origins.chains else path[:2])
    line, column = place.document.line_column(place.span().start)
    return f"{place.document.name}:{line}:{column}"


def _document(each: Meaning) -> dict[str, object]:
    made: dict[str, object] = {"reference": each.written, "kind": each.kind, **dict(each.words)}
    return {**made, "registry": each.registry, "fault": each.fault}
