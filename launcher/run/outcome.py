"""How a run ended: `outcome.json`, and the verdicts that lead to it."""

import json
import os
import signal
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from launcher.run import files, hints

SCHEMA = 1

FINISHED = "finished"
STOPPED = "stopped"
INTERRUPTED = "interrupted"
FAILED = "failed"
EXPIRED = "expired"
BROKEN = "broken"
UNFIT = "unfit"
TIMEOUT = "timeout"
CANCELLED = "cancelled"

STOPS: Mapping[str, Tuple[str, int, str]] = {
    "down": (STOPPED, 0, "stopped by `down`"),
    "SIGINT": (INTERRUPTED, 130, "interrupted (SIGINT)"),
    "SIGTERM": (INTERRUPTED, 143, "terminated (SIGTERM)"),
    "SIGHUP": (INTERRUPTED, 143, "the terminal hung up (SIGHUP)"),
}
"""Who asked for the stop (`by` in `stop.json`, or the signal's name) → state, exit code, cause."""


@dataclass(frozen=True)
class Verdict:
    """Why a run ends: exit 0 by `down` or the end of its benchmark, 1 the launcher's own failure or nodes that
    are unfit, 6 not ready in time, 7 a step or the job ended, 130 and 143 interrupted. `first` describes the first
    failing step.
    """

    state: str
    exit: int
    cause: str
    first: Optional[Dict[str, Any]] = field(default=None)
    by: str = ""


def stopped(by: str) -> Verdict:
    """The verdict when somebody asked for the end; an unknown name counts as SIGTERM."""
    state, code, cause = STOPS.get(by, STOPS["SIGTERM"])
    return Verdict(state, code, cause, by=by)


def finished() -> Verdict:
    """The verdict when what the run was for is done."""
    return Verdict(FINISHED, 0, "the benchmark has ended")


def unfit(cause: str) -> Verdict:
    """The verdict when the nodes of the job cannot take the run."""
    return Verdict(UNFIT, 1, cause)


def broken(cause: str) -> Verdict:
    """The verdict when the launcher itself cannot go on."""
    return Verdict(BROKEN, 1, cause)


def ending(status: int) -> Dict[str, int]:
    """A wait status as `{"exit": code}` or `{"signal": number}`."""
    return {"signal": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else {"exit": os.WEXITSTATUS(status)}


def told(end: Mapping[str, Any]) -> str:
    """`ending` in words: `ended with exit code 3`, `was killed by signal 9 (SIGKILL)`."""
    if "signal" not in end:
        return "ended with exit code %d" % end["exit"]
    number = int(end["signal"])
    name = " (%s)" % signal.Signals(number).name if number in list(signal.Signals) else ""
    return "was killed by signal %d%s" % (number, name)


def compose(verdict: Verdict, times: Mapping[str, Any], run: str, left: Sequence[int] = ()) -> Dict[str, Any]:
    """The outcome as JSON-ready data. `times` has `ready_after` (seconds or None), `started` and `ended`."""
    return {
        "schema": SCHEMA,
        "state": verdict.state,
        "exit": verdict.exit,
        "cause": verdict.cause,
        "by": verdict.by,
        "first": verdict.first,
        **times,
        "hint": _hint(verdict, run),
        "left": list(left),
    }


def write(run: str, outcome: Mapping[str, Any]) -> None:
    """Writes `outcome.json` into the bytes kept for it. Raises OSError; a vanished directory stays vanished."""
    os.stat(run)
    content = files.as_json(outcome)
    if len(content) > files.OUTCOME_BYTES and outcome.get("first"):
        # Rather a shorter story than none on a full disk.
        content = files.as_json({**outcome, "first": {**outcome["first"], "last_lines": []}})
    files.fill(os.path.join(run, files.OUTCOME_RESERVE), os.path.join(run, files.OUTCOME), content)


def read(run: str) -> Optional[Dict[str, Any]]:
    """The outcome of a run; None when there is none or it is not one of ours."""
    try:
        with open(os.path.join(run, files.OUTCOME), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("schema") == SCHEMA else None


def asked(run: str) -> Optional[str]:
    """Who asked for the stop, from `stop.json`; None when nobody did."""
    try:
        with open(os.path.join(run, files.STOP), encoding="utf-8") as file:
            return str(json.load(file)["by"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _hint(verdict: Verdict, run: str) -> Optional[str]:
    first = verdict.first or {}
    lines: List[str] = [first.get("first_error") or "", *first.get("last_lines", ()), verdict.cause]
    known = hints.hint(line for line in lines if line)
    if known is not None or verdict.exit not in (1, 7):
        return known
    if full(run):
        return hints.FULL
    return hints.KILLED if first.get("signal") == signal.SIGKILL else None


def full(run: str) -> bool:
    """Whether the file system of the run directory has no room left."""
    try:
        return os.statvfs(run).f_bavail == 0
    except OSError:
        return False
