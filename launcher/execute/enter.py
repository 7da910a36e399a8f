"""Entering a step of a run on this machine: a command with the environment and directory the step has."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from launcher.execute.journal import PLAN, Run, refusal
from launcher.plan.step import Step
from launcher.render.bare import bare
from launcher.run import prepare
from launcher.run.child import environment
from launcher.run.script import Child, Script, bind, load
from launcher.run.words import OWN
from launcher.text.suggest import nearest


def enter(run: Run, name: str, words: Sequence[str]) -> None:
    """Becomes `words` in the step `name` (a role means its first step). Returns never; raises Refused: for a command
    that is not there with exit 127, for one that cannot be run with 126, as shells do.

    The variables are those the step was given; those of `env_from` come from this shell, by name, as they did
    for the step. What is started belongs to the run and ends with it.
    """
    script = load((run.path / prepare.BOUND).read_text(encoding="utf-8"))
    child = find(script, name)
    env = environment(child, script.inherit, str(run.path), os.environb)
    path = env.get(b"PATH", os.fsencode(os.defpath))
    os.chdir(os.fsencode(child.cwd))
    argv = bind(bare(_step(run, child, words)), {"run": str(run.path)})
    try:
        os.execvpe(argv[0], argv, {**env, b"PATH": path})  # noqa: S606
    except FileNotFoundError as error:
        where = f"there, in `{child.cwd}`" if "/" in argv[0] else f"on the `PATH` of `{child.name}`"
        raise refusal("program-absent", f"`{argv[0]}` is not {where}", status=127) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise refusal("operation-failed", f"`{argv[0]}` cannot be run: {reason}", status=126) from error


def find(script: Script, name: str) -> Child:
    """The step of that name, or the first of a role. Raises Refused with exit 2, also for steps of the launcher's own:
    no role is in them, and one that prepares a root has no container yet.
    """
    steps = [child for child in script.children if not child.name.startswith(OWN)]
    for child in (*(each for each in steps if each.name == name), *(each for each in steps if each.role == name)):
        return child
    listed = f"it has {', '.join(child.name for child in steps)}"
    if any(child.name == name for child in script.children):
        raise refusal("unknown-step", f"`{name}` is a step of the launcher's own, which nobody enters", listed, 2)
    close = nearest(name, [word for child in steps for word in (child.name, child.role)])
    advice = f"did you mean `{close}`?" if close else listed
    raise refusal("unknown-step", f"the run has no step or role `{name}`", advice, 2)


def _step(run: Run, child: Child, words: Sequence[str]) -> Step:
    """A step of the same place with other words and no preamble: its environment directory is first on PATH."""
    plan: Mapping[str, Any] = json.loads((run.path / PLAN).read_text(encoding="utf-8"))["plan"]
    found: Mapping[str, Any] = next((step for step in plan["steps"] if step["name"] == child.name), {})
    return Step(child.name, child.role, (0,), tuple(words), reference=found.get("reference"))
