"""`launch cluster doctor`: a site asked what it is, its cluster file compared and corrected."""

import argparse
import json
import re
from collections.abc import Sequence

from launcher.checks.node import compared
from launcher.checks.survey import Entry, Subject, summary
from launcher.cli import arguments
from launcher.cli.guard import exit_code, refuse
from launcher.cli.table import table
from launcher.cli.terminal import Terminal
from launcher.execute import clusterfile
from launcher.execute.images.aliases import read, target
from launcher.execute.library import Files
from launcher.execute.slurm.survey import PATIENCE, survey
from launcher.execute.world import Real, World
from launcher.model.linking import Linking
from launcher.model.site import Site, site
from launcher.text.diagnostic import Diagnostic
from launcher.text.document import dotted
from launcher.text.secret import shown

SCHEMA = 1


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints key by key what the file says and what the site told; with `--write` the file is corrected first."""
    world, patience = Real(), arguments.patience(args, PATIENCE)
    name, found = _site(args)
    told = survey(world, found.cluster, patience)
    entries = compared(Subject(found, told))
    written = _write(world, name, found, entries, terminal) if args.write else []
    if written:
        found = _again(found, name)
        entries = compared(Subject(found, told))
    findings = list(summary(Subject(found, told), entries))
    if args.json:
        terminal.say(json.dumps(_data(found, entries, findings, written), indent=1))
    else:
        rows = [(*_cells(each), "" if each.state == "noted" else each.state) for each in entries]
        terminal.say(table(("key", "file", "here", "state"), rows, color=terminal.color_out))
    if findings:
        refuse(findings, terminal)
    elif not args.json:
        terminal.note(f"`{found.cluster.name}` is as its site is")
    return exit_code(findings)


def _site(args: argparse.Namespace) -> tuple[str, Site]:
    name, named = arguments.chosen(args)
    return name, read(name, named)


def _again(found: Site, name: str) -> Site:
    linking = Linking(Files())
    return site(linking, name) or found


def _write(world: World, name: str, found: Site, entries: Sequence[Entry], terminal: Terminal) -> list[str]:
    """The keys that were written, as people read them."""
    wrong = [each for each in entries if each.state in ("differs", "unsaid")]
    wanted = [(each.key, each.better) for each in wrong if each.better is not None]
    path = target(world, name).file
    if not wanted or not clusterfile.edited(world, Files(), path, found.cluster.name, clusterfile.nested(wanted)):
        terminal.note("nothing to write")
        return []
    keys = [dotted(key) for key, _ in wanted]
    terminal.note(f"wrote {', '.join(f'`{key}`' for key in keys)} to `{path}`")
    return keys


def _cells(entry: Entry) -> tuple[str, str, str]:
    key = dotted(entry.key)
    return key, shown(key, _line(entry.said)), _line(entry.here)


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _data(
    found: Site, entries: Sequence[Entry], findings: Sequence[Diagnostic], written: Sequence[str]
) -> dict[str, object]:
    lines = [
        {"key": key, "file": said or None, "here": here, "state": each.state}
        for each in entries
        for key, said, here in [_cells(each)]
    ]
    told = [{"code": each.code, "severity": str(each.severity), "message": each.message} for each in findings]
    data = {"entries": lines, "findings": told, "written": list(written)}
    return {"schema": SCHEMA, "cluster": found.cluster.name, **data}
