"""`launch ps`: the runs of this user on this machine."""

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from launcher.cli.table import table
from launcher.cli.terminal import Terminal
from launcher.execute.journal import Run, root
from launcher.execute.runs import Kinds
from launcher.execute.status import HELD, Status, every
from launcher.execute.world import Real
from launcher.run.script import to_data

SCHEMA = 1


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints the runs, oldest first: those of which something lives, with `--all` those that have ended as well."""
    world = Real()
    found = every(world, Kinds(world))
    shown = [(each, state) for each, state in found if args.all or not state.over]
    if args.json:
        terminal.say(json.dumps({"schema": SCHEMA, "runs": [data(*each) for each in shown]}, indent=1))
        return 0
    if shown:
        now = datetime.fromtimestamp(world.now(), UTC)
        terminal.say(table(_HEADER, [_row(*each, now) for each in shown], color=terminal.color_out))
    else:
        ended = f"; `launch ps --all` lists {len(found)} that ended" if found else ""
        terminal.note(f"nothing is running{ended}" if found else f"there are no runs in `{root(world)}`")
    return 0


def data(run: Run, found: Status) -> dict[str, Any]:
    """One run as JSON-ready data; `state` is `ended` once it is over, `outcome` then says how."""
    whole: dict[str, Any] = to_data(found)
    state, outcome = (found.state, None) if found.live else ("ended", found.state)
    return {"id": run.name, "path": str(run.path), **whole, "state": state, "outcome": outcome}


_HEADER = ("run", "state", "job", "since", "exit", "steps", "url", "why")

_WHY = 100
"""Characters of a cause at most: gates may have much to say, and `--json` has it all."""


def _row(run: Run, found: Status, now: datetime) -> Sequence[str]:
    return (
        run.name,
        HELD if found.held else found.state,
        found.job or "",
        _since(found, now),
        "" if found.exit is None else str(found.exit),
        _steps(found),
        (found.waiting or found.url or "") if found.live else "",
        "" if found.live else _why(found.cause or ""),
    )


def _why(cause: str) -> str:
    first = cause.split("\n", maxsplit=1)[0]
    return first if len(first) <= _WHY else f"{first[: _WHY - 1]}…"


def _steps(found: Status) -> str:
    lasting = [step for step in found.steps if step.lasting]
    going = sum(step.state == "running" for step in lasting)
    return f"{going}/{len(lasting)}" if found.live else ""


def _since(found: Status, now: datetime) -> str:
    moment = found.ended if found.over else found.started
    return "" if moment is None else age((now - datetime.fromisoformat(moment)).total_seconds())


def age(seconds: float) -> str:
    """How long ago, in one unit that leaves one or two digits: `7 s`, `3 min`, `2 h`, `5 d`."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"
