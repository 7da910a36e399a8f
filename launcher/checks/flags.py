"""Flags of a role against the catalogue of its program, and against what the launcher sets itself."""

from collections.abc import Iterator

from launcher.checks.case import Case
from launcher.model.catalogue import Catalogue, Fault, Flag, faults, guess
from launcher.model.job import Role
from launcher.model.recipe import FlagValue
from launcher.text.diagnostic import Diagnostic, Label, Severity

_MOST_CHOICES = 12


def unknown_flag(case: Case) -> Iterator[Diagnostic]:
    """The role's program has no such flag

    The program would end the moment it starts, after the nodes were waited for; some take what they do not
    know for something else. Flags are looked up in the catalogue of the program and version that the role
    runs. Keys have no dashes in front, and are spelt as the program spells them: with dashes or underscores.

        [router]
        kind = "smg"
        flags = { polcy = "random" }        # smg 1.13.0 has no flag `--polcy`: did you mean `policy`?

    Where only another version has a catalogue this is a warning: the flag may have come or gone since.
    """
    for role, catalogue in _catalogued(case):
        for key in role.flags:
            if catalogue.find(key) is None and _owner(role, key) is None:
                named = f"`{key}`" if key.startswith("-") else f"`--{key}`"
                near = catalogue.suggest(key, case.suggestions.nearest)
                yield Diagnostic(
                    "unknown-flag",
                    f"{catalogue.program} {catalogue.version} has no flag {named}",
                    role.place("flags", key, part="key"),
                    _severity(role, catalogue),
                    notes=_drift(role, catalogue),
                    help=f"did you mean `{near}`?" if near else None,
                )


def flag_value(case: Case) -> Iterator[Diagnostic]:
    """A flag cannot take its value

    The value's type is not the flag's, a choice is not one of those the program knows, there are too few or
    too many values, or a value would reach the program as something else. Nothing is converted: a switch
    is `true`, a number has no quotes, a table is JSON, a list repeats the flag or joins as the program wants.

        flags = { max-payload-size = "large" }      # wants a whole number
        flags = { disable-retries = "true" }        # a switch: write `true`
        flags = { policy = "rond_robin" }           # no choice of `--policy`

    `false` is a flag's negative form; a switch that has none is left out instead.
    """
    for role in case.job.roles:
        for key, value in role.flags.items():
            flag = _meant(role, key, value)
            if flag is None or _owner(role, key) is not None:
                continue
            for fault in faults(flag, value):
                chosen = _chosen(case, flag, value, fault)
                yield Diagnostic(
                    "flag-value",
                    f"`{key}` {fault.phrase}",
                    role.place("flags", key, *fault.path),
                    _severity(role, role.catalogue),
                    notes=_drift(role, role.catalogue),
                    help=chosen or fault.help,
                )


def owned_flag(case: Case) -> Iterator[Diagnostic]:
    """A flag for the launcher alone to set

    Addresses, ports and the list of workers follow from the plan, and other roles are told the same. A
    second value would be ignored, or worse, obeyed by one side only: the router would ask a port on which
    nobody listens. The help line says what to use instead.

        [roles.worker]
        flags = { port = 9000 }             # `[ports] shift` moves every port
    """
    for role in case.job.roles:
        for key in role.flags:
            owner = _owner(role, key)
            if owner is not None:
                yield Diagnostic(
                    "owned-flag",
                    f"`--{owner}` is for the launcher alone to set",
                    role.place("flags", key, part="key"),
                    help=f"take it out: {role.manifest.owned[owner]}",
                )


def exclusive_flags(case: Case) -> Iterator[Diagnostic]:
    """Two flags exclude each other

    The program takes one of them and ends when it is given both.

        flags = { service-discovery = true, discovery-provider = "file" }
    """
    for role, catalogue in _catalogued(case):
        for group in catalogue.exclusive:
            given = [key for key, value in role.flags.items() if value is not False and _name(catalogue, key) in group]
            for key in given[1:]:
                yield Diagnostic(
                    "exclusive-flags",
                    f"{catalogue.program} takes `{given[0]}` or `{key}`, not both",
                    role.place("flags", key, part="key"),
                    labels=(Label(role.place("flags", given[0], part="key"), "the other one"),),
                    help="keep one of them",
                )


def abbreviated_flag(case: Case) -> Iterator[Diagnostic]:
    """A flag is cut short

    The program takes any beginning of a flag that no other has (Python's argparse does so), and the whole
    flag is passed on. A version that adds a flag of the same beginning refuses it. This is a warning.

        flags = { log-lev = "debug" }       # `log-level`
    """
    for role, catalogue in _catalogued(case):
        for key in role.flags:
            flag = catalogue.find(key)
            if flag is not None and not {f"--{key}", f"-{key}"} & {*flag.spellings}:
                yield Diagnostic(
                    "abbreviated-flag",
                    f"`{key}` is short for `{flag.key}`",
                    role.place("flags", key, part="key"),
                    Severity.WARNING,
                    help=f"write `{flag.key}`",
                )


def catalogue_missing(case: Case) -> Iterator[Diagnostic]:
    """There is no flag catalogue of the program's version

    Flags are then compared with the nearest version's, and what is found are warnings; without any they are
    passed as they stand. This is a warning. A catalogue is a file
    `manifests/flags/PROGRAM/VERSION.json`, which `python -m launcher.execute.harvest` makes from the
    program itself. Which version an image has, `version` in the role says, or the image alias:

        [images]
        smg = { reference = "docker.io/lightseekorg/smg:v1.13.0", versions = { smg = "1.13.0" } }
    """
    for role in case.job.roles:
        program, catalogue = role.manifest.program.name, role.catalogue
        if program is None or not role.flags or (catalogue is not None and catalogue.version == role.version):
            continue
        wanted = f"{program} {role.version}" if role.version else program
        key = ("version",) if ("version",) in role.origins.chains else ("flags",)
        checked = f"checked against those of {catalogue.version}" if catalogue else "passed unchecked"
        yield Diagnostic(
            "catalogue-missing",
            f"there is no flag catalogue of {wanted}: its flags are {checked}",
            role.place(*key),
            Severity.WARNING,
            help=None if role.version else "say `version` in the role, or `versions` of the image alias",
        )


def _catalogued(case: Case) -> Iterator[tuple[Role, Catalogue]]:
    for role in case.job.roles:
        if role.catalogue is not None:
            yield role, role.catalogue


def _meant(role: Role, key: str, value: FlagValue) -> Flag | None:
    return guess(key, value) if role.catalogue is None else role.catalogue.find(key)


def _name(catalogue: Catalogue, key: str) -> str | None:
    flag = catalogue.find(key)
    return flag.name if flag else None


def _owner(role: Role, key: str) -> str | None:
    """The owned flag that `key` means, in any spelling of it, known to the program or not."""
    if not role.manifest.owned:
        return None
    bare = key.lstrip("-").replace("_", "-")
    if bare in role.manifest.owned:
        return bare
    flag = role.catalogue.find(key) if role.catalogue else None
    if flag is None or role.catalogue is None:
        return None
    found = {name: role.catalogue.find(name) for name in role.manifest.owned}
    return next((name for name, owned in found.items() if owned is not None and flag.same(owned)), None)


def _severity(role: Role, catalogue: Catalogue | None) -> Severity:
    return Severity.WARNING if _drift(role, catalogue) else Severity.ERROR


def _drift(role: Role, catalogue: Catalogue | None) -> tuple[str, ...]:
    """Why a finding may be wrong: the catalogue is another version's."""
    if catalogue is None or catalogue.version == role.version:
        return ()
    if role.version is None:
        return (f"nobody says which version of {catalogue.program} the role runs",)
    return (f"the role runs {catalogue.program} {role.version}, which has no flag catalogue",)


def _chosen(case: Case, flag: Flag, value: FlagValue, fault: Fault) -> str | None:
    """What to choose instead, where the fault is a wrong choice."""
    item: object = value
    for part in fault.path:
        item = item[part]  # type: ignore[index]
    if not flag.choices or not isinstance(item, str) or item in flag.choices:
        return None
    near = case.suggestions.nearest(item, flag.choices)
    if near:
        return f"did you mean `{near}`?"
    shown = [f"`{choice}`" for choice in flag.choices[:_MOST_CHOICES]]
    return f"choose {', '.join(shown)}{' …' * (len(flag.choices) > len(shown))}"
