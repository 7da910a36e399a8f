"""How a run ended, told as a finding: the first failing step, what it said, what to do."""

from collections.abc import Iterator, Mapping
from typing import Any

from launcher.cli.guard import refuse
from launcher.cli.terminal import Terminal
from launcher.execute.journal import Run
from launcher.execute.runs import Runs
from launcher.execute.status import CREATED, LOST, Status, status
from launcher.run.outcome import BROKEN, CANCELLED, EXPIRED, FAILED, FINISHED, TIMEOUT, UNFIT
from launcher.text.diagnostic import Diagnostic

_CODES: Mapping[str, str] = {
    FAILED: "run-failed",
    EXPIRED: "run-expired",
    TIMEOUT: "job-ended",
    CANCELLED: "job-ended",
    UNFIT: "nodes-unfit",
    BROKEN: "run-broken",
    LOST: "run-broken",
    CREATED: "run-broken",
}
_LINES = 10


def unready(run: Run, terminal: Terminal, kind: Runs) -> int:
    """Says how a run ended that somebody awaits; returns its exit code, 1 for one that was taken down.

    One whose benchmark has ended has been what was awaited.
    """
    return told(run, terminal, kind) or int(status(run, kind).state != FINISHED)


def told(run: Run, terminal: Terminal, kind: Runs) -> int:
    """Says how the run ended; returns its exit code."""
    found = status(run, kind)
    code = _CODES.get(found.state)
    if code is None:
        terminal.note(f"{run.name}: {found.cause or found.state}")
    else:
        refuse([finding(run, found, code)], terminal)
    if found.held:
        job = found.job
        terminal.note(f"job {job} is kept: `launch up … --in {job}` uses it, `launch down {run.name}` gives it back")
    return found.exit or int(code is not None)


def finding(run: Run, found: Status, code: str) -> Diagnostic:
    """The outcome as a finding without a place in a document."""
    # Whoever would have ended its processes was killed.
    advice = (
        f"`launch down {run.name}` ends what of it lives on" if found.state == LOST else found.hint or _advice(found)
    )
    return Diagnostic(
        code, found.cause or found.state, None, notes=tuple(_notes(run, found)), help=advice, exit=found.exit or 1
    )


def _advice(found: Status) -> str | None:
    """What to do where nothing that was said is known."""
    if found.state == EXPIRED:
        return "`[ready] timeout` of the recipe, or `--timeout`, gives it longer; what it waits for tells why"
    return "`[slurm] time` of the recipe gives it longer" if found.state == TIMEOUT else None


def _notes(run: Run, found: Status) -> Iterator[str]:
    first: Mapping[str, Any] = found.first or {}
    error, lines = first.get("first_error"), list(first.get("last_lines") or ())[-_LINES:]
    if error and error not in lines:
        yield f"first error: {error}"
    if lines:
        yield "\n".join(["its last lines:", *lines])
    if first.get("log"):
        yield f"all it wrote: `launch logs {run.name} {first['step']}`, or {run.path / first['log']}"
    else:
        yield f"run directory: {run.path}"
