"""Answers the questions of the audits from this machine."""

import errno
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from launcher.checks.allow import allowed
from launcher.checks.audit import audit, here
from launcher.execute.ports import owner
from launcher.model.facts import Answer, Facts, Module, Port, Program, Question, Syntax, Variable
from launcher.model.job import Job
from launcher.plan.step import Plan
from launcher.text.diagnostic import Diagnostic

ROUNDS = 3
"""An audit may ask again once it knows more, but not for ever."""

_SHELL_SECONDS = 10.0


def audited(job: Job, plan: Plan, slots: Mapping[str, str]) -> list[Diagnostic]:
    """What the audits find on this machine, all questions answered. `slots` are the plan's late references."""
    plan = here(plan, slots)
    facts: dict[Question, Answer] = {}
    for _ in range(ROUNDS):
        questions = audit(job, plan, facts)[1]
        if not questions:
            break
        facts.update(answers(questions))
    return list(allowed(audit(job, plan, facts)[0], job.recipe.allow))


def answers(questions: Iterable[Question]) -> Facts:
    """Every question answered, several at a time."""
    asked = list(questions)
    with ThreadPoolExecutor(max_workers=8) as pool:
        return dict(zip(asked, pool.map(lambda question: _ANSWERS[type(question)](question), asked), strict=True))


def _port(question: Port) -> Answer:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        # As servers do: a port whose last connections are still in TIME_WAIT counts as free.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("0.0.0.0", question.number))  # noqa: S104  (the ports of a run are bound to every address)
            listener.listen(1)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return Answer(yes=False, text=f"is in use{_by(question.number)}")
            return Answer(yes=False, text=f"cannot be listened on: {(error.strerror or '').lower()}")
    return Answer(yes=True)


def _by(number: int) -> str:
    found = owner(number)
    return f" by {found}" if found else " (its owner is hidden from this user)"


def _variable(question: Variable) -> Answer:
    return Answer(yes=question.name in os.environ, where="the submitting shell")


def _program(question: Program) -> Answer:
    path = os.environ.get("PATH", os.defpath)
    if shutil.which(question.name, path=path if question.first is None else f"{question.first}{os.pathsep}{path}"):
        return Answer(yes=True)
    if "/" in question.name:
        state = "cannot be run" if Path(question.name).exists() else "does not exist"
        return Answer(yes=False, text=f"`{question.name}` {state}")
    beside = "" if question.first is None else f" nor in `{question.first}`"
    return Answer(yes=False, text=f"`{question.name}` is not on `PATH`{beside}")


def _module(question: Module) -> Answer:
    absent = Answer(yes=False, text=f"`{question.python}` has no module `{question.name}`")
    if question.python == sys.executable:
        return Answer(yes=True) if _importable(question.name) else absent
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
    try:
        asked = subprocess.run(
            [question.python, "-c", code, question.name], capture_output=True, timeout=_SHELL_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return Answer(yes=True)  # that there is no such interpreter is said by another question
    return Answer(yes=True) if asked.returncode == 0 else absent


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _syntax(question: Syntax) -> Answer:
    try:
        asked = subprocess.run(
            ["bash", "-n"],
            input=question.text.encode("utf-8", "surrogateescape"),
            capture_output=True,
            timeout=_SHELL_SECONDS,
            env={**os.environ, "LC_ALL": "C"},
        )
    except FileNotFoundError:
        return Answer(yes=False, text="there is no `bash` on this machine to ask")
    except subprocess.TimeoutExpired:
        return Answer(yes=False, text=f"`bash -n` did not end within {_SHELL_SECONDS:.0f} s")
    complaint = asked.stderr.decode("utf-8", "replace").strip().splitlines()
    if asked.returncode == 0:
        return Answer(yes=True)
    return Answer(yes=False, text=complaint[0].removeprefix("bash: ") if complaint else "no reason given")


_ANSWERS: Mapping[type, Callable[[Any], Answer]] = {
    Port: _port,
    Variable: _variable,
    Program: _program,
    Module: _module,
    Syntax: _syntax,
}
