"""Naming what ended a run: the first failing step, or the gate that stayed shut."""

import os
import re
from typing import Any, Dict, Optional

from launcher.run import child, outcome
from launcher.run.ask import Shut
from launcher.run.child import Running
from launcher.run.excerpt import LINES, Excerpt, excerpt
from launcher.run.outcome import EXPIRED, FAILED, Verdict
from launcher.run.script import Child, Gate

# Slurm 22.05 to 25.11: `srun: error: node1: task 3: Exited with exit code 7`, `tasks 0-3: Killed`.
_TASK = re.compile(r"^srun: error: \S+: tasks? (\d+)", re.MULTILINE)
_HEAD = 1024 * 1024
# What `srun` says whatever happens, and what it says of the steps it ends itself.
_NOISE = re.compile(r"lacks support for cpu binding|_step_signal: Terminating")
_WHEN = {
    "starting": "while the run was starting",
    "gated": "before the run was ready",
    "ready": "after the run was ready",
    "benchmark": "while the benchmark ran",
}
_PREAMBLES = {None: "", "cluster": " in the cluster's preamble", "role": " in the preamble of role `%(role)s`"}


def gate(asked: Gate) -> str:
    """A gate as messages name it."""
    return "%s %s" % (asked.kind, asked.url)


def ended(running: Running, phase: str, how: Dict[str, int], run: str) -> Verdict:
    """A critical step ended: `how` is its exit code or signal."""
    step = running.child
    log = _log(running, run)
    where = _PREAMBLES[log["setup"]] % {"role": step.role}
    although = " although it should last" if step.lasting and how == {"exit": 0} else ""
    cause = "step `%s` %s%s%s, %s" % (step.name, outcome.told(how), where, although, _WHEN.get(phase, phase))
    return Verdict(FAILED, 7, cause, {**_named(step, phase), **how, **log})


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
    return _of_tasks(running.child, run, name, found) if running.child.outputs else _quoted(name, found)


def _quoted(log: str, said: Excerpt) -> Dict[str, Any]:
    return {"log": log, "first_error": said.first_error, "last_lines": said.last_lines, "setup": said.unfinished}


def _of_tasks(step: Child, run: str, name: str, said: Excerpt) -> Dict[str, Any]:
    """What the tasks of a step wrote: of the one that ended first, as `srun` tells. Else what `srun` itself said."""
    written = {output: excerpt(os.path.join(run, output), 0) for output in step.outputs}
    first = "logs/%s.%s.log" % (step.name, _first(os.path.join(run, name)))
    if first in written and written[first].last_lines:
        # Killed from outside it says nothing of an error; what others complain of came before, or is its consequence.
        telling = [first]
    else:
        telling = [o for o in written if written[o].first_error] or [o for o in written if written[o].last_lines]
    if not telling:
        return _quoted(name, said)
    chosen = written[telling[0]]
    return {
        **_quoted(telling[0], chosen),
        "first_error": chosen.first_error or said.first_error,
        "last_lines": [*chosen.last_lines, *(line for line in said.last_lines if not _NOISE.search(line))][-LINES:],
    }


def task(said: str) -> Optional[str]:
    """The number of the task that `srun` saw end badly first; those after it were ended because of that."""
    found = _TASK.search(said)
    return None if found is None else found.group(1)


def _first(log: str) -> Optional[str]:
    try:
        with open(log, encoding="utf-8", errors="replace") as file:
            return task(file.read(_HEAD))
    except OSError:
        return None
