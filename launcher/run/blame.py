"""Naming what ended a run: the first failing step, or the gate that stayed shut."""

import os
from typing import Any, Dict, Optional

from launcher.run import child, outcome
from launcher.run.ask import Shut
from launcher.run.child import Running
from launcher.run.excerpt import excerpt
from launcher.run.outcome import EXPIRED, FAILED, Verdict
from launcher.run.script import Child, Gate

_WHEN = {
    "starting": "while the run was starting",
    "gated": "before the run was ready",
    "ready": "after the run was ready",
}


def gate(asked: Gate) -> str:
    """A gate as messages name it."""
    return "%s %s" % (asked.kind, asked.url)


def ended(running: Running, phase: str, how: Dict[str, int], run: str) -> Verdict:
    """A critical step ended: `how` is its exit code or signal."""
    step = running.child
    although = " although it should last" if step.lasting and how == {"exit": 0} else ""
    cause = "step `%s` %s%s, %s" % (step.name, outcome.told(how), although, _WHEN.get(phase, phase))
    return Verdict(FAILED, 7, cause, {**_named(step, phase), **how, **_log(running, run)})


def unstartable(step: Child, phase: str, reason: str) -> Verdict:
    """A critical step's program could not be started."""
    first = {**_named(step, phase), "first_error": reason, "last_lines": []}
    return Verdict(FAILED, 7, "step `%s` could not be started: %s" % (step.name, reason), first)


def expired(budget: float, step: Child, running: Running, shut: Optional[Shut], run: str) -> Verdict:
    """The budget is spent and `step`, alive, is what the run waits for: at a gate, or for its end."""
    first = {**_named(step, "gated"), **_log(running, run)}
    if step.lasting:
        asked, said = (gate(step.gates[0]), "none yet") if shut is None else (gate(shut.gate), shut.said)
        first.update(gate=asked, said=said)
        what = "its gate %s is shut, the last answer was: %s" % (asked, said)
    else:
        what = "it is still running"
    return Verdict(EXPIRED, 6, "step `%s` was not ready within %g s: %s" % (step.name, budget, what), first)


def not_ready(budget: float, shut: Optional[Shut]) -> Verdict:
    """The budget is spent, every step is fine by itself, and the run as a whole is not ready."""
    name, said = ("its last gate", "none yet") if shut is None else (gate(shut.gate), shut.said)
    cause = "the run was not ready within %g s: %s is shut, the last answer was: %s" % (budget, name, said)
    first = {"step": None, "role": None, "phase": "gated", "gate": name, "said": said}
    return Verdict(EXPIRED, 6, cause, {**first, "first_error": None, "last_lines": []})


def _named(step: Child, phase: str) -> Dict[str, Any]:
    return {"step": step.name, "role": step.role, "phase": phase}


def _log(running: Running, run: str) -> Dict[str, Any]:
    name = child.log(running.child)
    found = excerpt(os.path.join(run, name), running.offset)
    return {"log": name, "first_error": found.first_error, "last_lines": found.last_lines}
