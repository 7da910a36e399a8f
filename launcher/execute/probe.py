"""Answers the questions of the audits from this machine."""

import errno
import os
import re
import shlex
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeGuard

from launcher.checks.allow import allowed
from launcher.checks.audit import audit, here
from launcher.execute import find
from launcher.execute.envoy import bootstrap
from launcher.execute.interrupt import abreast
from launcher.execute.journal import root
from launcher.execute.library import config
from launcher.execute.slurm import answers as answers_of_slurm
from launcher.execute.world import Real
from launcher.model.facts import (
    Accounts,
    Answer,
    Bootstrap,
    Facts,
    Folder,
    Header,
    Installed,
    Model,
    Module,
    Mpis,
    Options,
    Partitions,
    Port,
    Present,
    Program,
    Question,
    Syntax,
    Tag,
    Variable,
)
from launcher.model.job import Job
from launcher.plan.step import Plan
from launcher.text.diagnostic import Diagnostic

ROUNDS = 3
"""An audit may ask again once it knows more, but not for ever."""

_SHELL_SECONDS = 10.0


def audited(
    job: Job, plan: Plan, slots: Mapping[str, str], claimed: Mapping[int, str] = MappingProxyType({})
) -> list[Diagnostic]:
    """What the audits find on this machine, all questions answered. `slots` are the plan's late references,
    `claimed` the ports that runs have, though nothing may listen there yet.
    """
    plan = here(plan, slots) if plan.batch is None else plan
    facts: dict[Question, Answer] = {}
    for _ in range(ROUNDS):
        questions = audit(job, plan, facts)[1]
        if not questions:
            break
        facts.update({each: _taken(claimed[each.number]) for each in questions if _claims(each, claimed)})
        facts.update(answers(each for each in questions if each not in facts))
    return list(allowed(audit(job, plan, facts)[0], job.recipe.allow))


def answers(questions: Iterable[Question]) -> Facts:
    """Every question answered, several at a time."""
    asked = list(questions)
    return dict(zip(asked, abreast(lambda question: _ANSWERS[type(question)](question), asked, 8), strict=True))


def _port(question: Port) -> Answer:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        # As servers do: a port whose last connections are still in TIME_WAIT counts as free.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("0.0.0.0", question.number))  # noqa: S104  (the ports of a run are bound to every address)
            listener.listen(1)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return _used(question.number)
            return Answer(yes=False, text=f"not to be listened on: {(error.strerror or '').lower()}")
    return Answer(yes=True)


def _claims(question: Question, claimed: Mapping[int, str]) -> TypeGuard[Port]:
    return isinstance(question, Port) and question.number in claimed


def _taken(run: str) -> Answer:
    return Answer(yes=False, text=f"in use by the run `{run}`", run=run)


def _used(number: int) -> Answer:
    # Whose a port is is seldom asked, and psutil is slow to import.
    found = import_module("launcher.execute.ports").owner(number)
    if found is None:
        return Answer(yes=False, text="in use (by whom is hidden from this user)")
    if found.run is None:
        return Answer(yes=False, text=f"in use by {found.text}")
    if (root(Real()) / found.run.name).exists():
        return _taken(found.run.name)
    return Answer(yes=False, text=f"in use by the run `{found.run}`", advice=_down(found.run))


def _down(run: Path) -> str | None:
    """What ends a run that `launch down` alone would not find: of another user, or of another `XDG_STATE_HOME`."""
    if run.parent.parts[-2:] != ("launch", "runs"):
        return None
    return f"`XDG_STATE_HOME={shlex.quote(str(run.parents[2]))} launch down {run.name}`"


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
    """As a step would find it: neither from here nor by variables of this shell, which steps do not get."""
    code = Path(find.__file__).read_text(encoding="utf-8")
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    try:
        asked = subprocess.run(
            [question.python, "-c", code, question.name], capture_output=True, timeout=_SHELL_SECONDS, env=env, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired):
        return Answer(yes=True)  # that there is no such interpreter is said by another question
    found = asked.returncode == 0
    return Answer(yes=found, text="" if found else f"`{question.python}` has no module `{question.name}`")


def _installed(question: Installed) -> Answer:
    path = os.environ.get("PATH", os.defpath)
    found = shutil.which(
        question.program, path=path if question.first is None else f"{question.first}{os.pathsep}{path}"
    )
    # Where an environment's programs are links, they are its own: what they lead to is not looked at.
    home = Path(found).parent.parent if found else None
    for folder in home.glob("lib/python3*/*-packages/*.dist-info") if home else ():
        name, _, version = folder.name.removesuffix(".dist-info").partition("-")
        if _plain(name) == _plain(question.name):
            return Answer(yes=True, text=version)
    return Answer(yes=False)


def _plain(distribution: str) -> str:
    return re.sub("[-_.]+", "-", distribution).lower()


def _folder(question: Folder) -> Answer:
    path = config(os.environ) if question.kind == "config" else _data()
    return Answer(yes=path is not None, text=str(path or ""))


def _data() -> Path | None:
    home, own = os.environ.get("HOME", ""), os.environ.get("XDG_DATA_HOME", "")
    if own.startswith("/"):
        return Path(own) / "launch"
    return Path(home) / ".local" / "share" / "launch" if home.startswith("/") else None


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
        return Answer(yes=True)  # that there is no bash is said by another question
    except subprocess.TimeoutExpired:
        return Answer(yes=False, text=f"`bash -n` did not end within {_SHELL_SECONDS:.0f} s")
    complaint = asked.stderr.decode("utf-8", "replace").strip().splitlines()
    if asked.returncode == 0:
        return Answer(yes=True)
    return Answer(yes=False, text=complaint[0].removeprefix("bash: ") if complaint else "no reason given")


def _model(question: Model) -> Answer:
    # As of images: a compute node is asked by what few commands need.
    found: Answer = import_module("launcher.execute.model").answer(question)
    return found


def _present(question: Present) -> Answer:
    found: Answer = import_module("launcher.execute.present").answer(question)
    return found


def _image(question: Tag | Header) -> Answer:
    # Nothing else asks registries, and httpx takes longer to import than all the rest.
    found: Answer = import_module("launcher.execute.images.answers").answer(question)
    return found


_ANSWERS: Mapping[type, Callable[[Any], Answer]] = {
    Tag: _image,
    Header: _image,
    Model: _model,
    Present: _present,
    Port: _port,
    Variable: _variable,
    Program: _program,
    Module: _module,
    Installed: _installed,
    Syntax: _syntax,
    Bootstrap: bootstrap,
    Folder: _folder,
    Partitions: answers_of_slurm.partitions,
    Options: answers_of_slurm.options,
    Mpis: answers_of_slurm.mpis,
    Accounts: answers_of_slurm.accounts,
}
