"""Environment of the roles: names, values, what the launcher sets itself, and secrets."""

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from launcher.checks.case import Case
from launcher.model.job import Role
from launcher.plan.starter import early
from launcher.text.diagnostic import Diagnostic, Label, Place, Severity
from launcher.text.secret import holds, named

LONGEST = 128 * 1024
"""Bytes of the longest `NAME=value` with its closing NUL that Linux passes to a program (MAX_ARG_STRLEN)."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MASKS = "the GPUs a role sees follow from its placement; say `gpus`"
_OWNED: Mapping[str, str] = {
    "CUDA_VISIBLE_DEVICES": _MASKS,
    "HIP_VISIBLE_DEVICES": _MASKS,
    "ROCR_VISIBLE_DEVICES": _MASKS,
}
_OWN = "LAUNCH_"


def environment_name(case: Case) -> Iterator[Diagnostic]:
    """A variable's name is not one

    Names are letters, digits and `_`, no digit first. A shell drops others or ends with an error, and pyxis
    cannot carry them into a container. In `env_from` stand names alone, without a value.

        env = { MY-VAR = "1" }              # MY_VAR
        env_from = ["HF_TOKEN=hf_…"]        # HF_TOKEN, set in the shell
    """
    for role in case.job.roles:
        for name, place in _names(role):
            if not _NAME.fullmatch(name):
                better = re.sub(r"[^A-Za-z0-9_]", "_", name.partition("=")[0])
                fine = _NAME.fullmatch(better) and better.strip("_")
                yield Diagnostic(
                    "environment-name",
                    f"`{name}` is not the name of a variable",
                    place,
                    help=f"write `{better}`" if fine else "use letters, digits and `_`, a digit not first",
                )


def owned_variable(case: Case) -> Iterator[Diagnostic]:
    """The launcher sets this variable itself

    Which GPUs a process sees, addresses and ports follow from the plan. A value of your own would be
    overwritten, or make two processes share what each must have alone. Names that begin with `LAUNCH_` are
    what the launcher tells every role.
    """
    for role in case.job.roles:
        for name, place in _names(role):
            advice = role.manifest.owned_env.get(name) or _OWNED.get(name)
            if name.startswith(_OWN):
                advice = advice or "names that begin with `LAUNCH_` are the launcher's; choose another"
            if advice is not None:
                yield Diagnostic("owned-variable", f"the launcher sets `{name}` itself", place, help=advice)


def tool_variable(case: Case) -> Iterator[Diagnostic]:
    """A variable of the shell is read by what starts the role

    Values that `env_from` takes from the submitting shell travel in the environment of `srun`. Slurm reads
    `SLURM_*` there and pyxis `PYXIS_*` as if they were options, enroot reads `ENROOT_*` and the loader `LD_*`:
    the step itself may be changed, not only the program in it. In `env` such a variable is fine: it is set
    inside the container alone. This is a warning.
    """
    if case.job.cluster.scheduler == "local" or case.job.cluster.runtime == "apptainer":
        return
    for role in case.job.roles:
        for index, name in enumerate(role.env_from):
            if early(name):
                yield Diagnostic(
                    "tool-variable",
                    f"`{name}` is read by what starts the role, not only by the role",
                    role.place("env_from", index),
                    Severity.WARNING,
                    help="give it a value in `env`, which is set inside the container alone",
                )


def environment_twice(case: Case) -> Iterator[Diagnostic]:
    """A variable stands in `env` and in `env_from`

    `env` gives it a value and `env_from` takes one from the submitting shell; nobody can tell which was
    meant. Keep `env_from` for secrets and what differs from user to user.
    """
    for role in case.job.roles:
        for index, name in enumerate(role.env_from):
            if name in role.env:
                yield Diagnostic(
                    "environment-twice",
                    f"`{name}` has a value in `env` and is taken from the shell too",
                    role.place("env_from", index),
                    labels=(Label(role.place("env", name, part="key"), "the value"),),
                    help="keep one of them",
                )


def environment_value(case: Case) -> Iterator[Diagnostic]:
    """A variable is too long

    Linux passes no argument and no variable of 128 KiB or more, its name included: the program would not be
    started at all. Write the text to a file and name that.
    """
    for role in case.job.roles:
        for name, value in role.env.items():
            size = len(name.encode()) + len(value.encode()) + 2
            if size > LONGEST:
                yield Diagnostic(
                    "environment-value",
                    f"`{name}` takes {size} bytes, and {LONGEST} is the most a variable may take",
                    role.place("env", name, part="key"),
                    help="write the text to a file, and name that",
                )


def secret_in_file(case: Case) -> Iterator[Diagnostic]:
    """A secret stands in a file

    Recipes and cluster files are shared and committed, and the run directory holds every value; everybody on a
    node can read the words of a command. Take secrets from the submitting shell, by name: they then stand in no
    file. What looks like a secret is masked wherever it would be shown. This is a warning.

        env = { HF_TOKEN = "hf_…" }         # env_from = ["HF_TOKEN"]
    """
    for role in case.job.roles:
        for name, value in role.env.items():
            if named(name, value) or holds(value):
                place, help_ = role.place("env", name, part="key"), f'`env_from = ["{name}"]` takes it from the shell'
                yield _secret(f"the value of `{name}` looks like a secret", place, help_)
        told = [("flags", *pair) for pair in role.flags.items()] + [("config", *pair) for pair in role.config.items()]
        for table, key, given in told:
            if any(named(name, text) or holds(text) for name, text in _texts(key, given)):
                help_ = "give it by a variable in `env_from`, or in a file, as the program takes it"
                yield _secret(f"the value of `{key}` looks like a secret", role.place(table, key, part="key"), help_)
        if role.preamble is not None and holds(role.preamble):
            help_ = "write a variable there, and name it in `env_from`: it is then taken from the shell"
            yield _secret("the preamble has what looks like a secret", role.place("setup", part="key"), help_)


def _texts(key: str, value: object) -> Iterator[tuple[str, str]]:
    """Every text in the value of a flag, with the key it stands at."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(key, item)
    elif isinstance(value, dict):
        for inner, item in value.items():
            yield from _texts(inner, item)


def _secret(message: str, place: Place, advice: str) -> Diagnostic:
    return Diagnostic("secret-in-file", message, place, Severity.WARNING, help=advice)


def _names(role: Role) -> Iterator[tuple[str, Place]]:
    """Every variable the role is given, and where it is named."""
    part: Literal["key"] = "key"
    for name in role.env:
        yield name, role.place("env", name, part=part)
    for index, name in enumerate(role.env_from):
        yield name, role.place("env_from", index)
