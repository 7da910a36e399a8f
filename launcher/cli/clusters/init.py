"""`launch cluster init`: a new cluster file with what the site tells."""

import argparse
from pathlib import Path

from launcher.checks.node import compared
from launcher.checks.survey import Subject
from launcher.cli import arguments
from launcher.cli.guard import Usage
from launcher.cli.terminal import Terminal
from launcher.execute import clusterfile
from launcher.execute.folder import NAME
from launcher.execute.images.aliases import target
from launcher.execute.library import Files
from launcher.execute.slurm.survey import PATIENCE, survey
from launcher.execute.world import Real, World
from launcher.model import newcluster
from launcher.model.cluster import Cluster
from launcher.model.job import Origins
from launcher.model.linking import Linking
from launcher.model.site import Site
from launcher.model.survey import Survey
from launcher.text.diagnostic import Refused
from launcher.text.parse import parse


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Writes a new cluster file with what the site tells, the rest as comments to fill in."""
    world, files, patience = Real(), Files(), arguments.patience(args, PATIENCE)
    name, path = _new(files, world, args.name)
    blank = _subject(newcluster.text(name, Survey()), Survey())
    told, silence = _survey(world, blank.site, patience)
    begun = newcluster.text(name, told)
    changes = {each.key: each.better for each in compared(_subject(begun, told)) if each.better is not None}
    clusterfile.created(files, path.absolute(), clusterfile.changed(begun, clusterfile.nested(changes.items())))
    terminal.say(str(path))
    if silence:
        terminal.note(silence)
    # Where nobody told of containers there may be some all the same.
    todo = "`[images]`" if newcluster.runtime(told) != "none" else "`runtime` and `[images]`"
    terminal.note(f"next: fill in {todo}, then `launch cluster doctor {args.name}`")
    return 0


def _survey(world: World, blank: Site, patience: float) -> tuple[Survey, str]:
    try:
        told = survey(world, blank.cluster, patience)
    except Refused as refused:
        said = refused.diagnostics[0].message
        return Survey(), f"{said}; what Slurm would tell is left open"
    return told, "" if told.told is not None else f"no compute node could be asked: {told.silence}"


def _new(files: Files, world: World, word: str) -> tuple[str, Path]:
    """Name and path of a cluster that is not there yet. Raises Usage."""
    if "/" in word or word.endswith(".toml"):
        name, path = Path(word).name.removesuffix(".toml"), Path(word)
    else:
        name, path = word, target(world, word).file
    if not NAME.fullmatch(name):
        raise Usage(f"`{name}` is no name for a cluster", advice="letters, digits, `.`, `_` and `-`, 63 at most")
    if name in files.clusters():
        advice = f"`launch cluster show {name}` shows it, `launch cluster doctor {name} --write` corrects it"
        raise Usage(f"there is a cluster `{name}` already", advice=advice)
    return name, path


def _subject(text: str, told: Survey) -> Subject:
    document = parse("<new>", text)
    linking = Linking(Files())
    cluster = linking.read(Cluster, document)
    if cluster is None:
        raise Refused(linking.findings)
    return Subject(Site(cluster, (document,), Origins({}, document)), told)
