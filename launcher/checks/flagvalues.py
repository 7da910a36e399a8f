"""Values of flags: whether each would reach the program as it was written."""

from collections.abc import Iterator

from launcher.checks.case import Case
from launcher.checks.flags import drift, owner, severity, shown
from launcher.model.catalogue import Fault, Flag, faults, guess
from launcher.model.given import spoken
from launcher.model.job import Role
from launcher.model.recipe import FlagValue
from launcher.text.advice import written
from launcher.text.diagnostic import Diagnostic, Severity

_MOST_CHOICES = 12


def flag_value(case: Case) -> Iterator[Diagnostic]:
    """A flag cannot take its value

    The value's type is not the flag's, a choice is not one of those the program knows, there are too few or
    too many values, or a value would reach the program as something else. Nothing is converted: a switch
    is `true`, a number has no quotes, a table is JSON, a list repeats the flag or joins as the program wants.

        flags = { max-payload-size = "large" }      # wants a whole number
        flags = { disable-retries = "true" }        # a switch: write `true`
        flags = { policy = "rond_robin" }           # no choice of `--policy`
        flags = { kv-transfer-config = { kv_rol = "kv_both" } }     # no field of it: `kv_role`

    `false` is a flag's negative form; a switch that has none is left out instead. A word that the program may
    have learnt from a plugin (`tool-call-parser`, `kv_connector`) is a warning.
    """
    for role in case.job.roles:
        for table, key, value in spoken(role):
            flag = _meant(role, key, value)
            # YAML alone has what is nothing: `config-value`.
            if flag is None or flag.retired or value is None or owner(role, key) is not None:
                continue
            for fault in faults(flag, value):
                place = role.place(table, key, *fault.path, part=fault.part)
                yield Diagnostic(
                    "flag-value",
                    f"`{_named(key, fault)}` {fault.phrase}",
                    place,
                    severity(role, role.catalogue) if fault.sure else Severity.WARNING,
                    notes=() if not fault.sure else drift(role, role.catalogue),
                    help=_chosen(case, fault) or written(fault.help, place) or _taken(role, flag),
                )


def _taken(role: Role, flag: Flag) -> str | None:
    return f"{shown(role.catalogue, flag.key.partition('.')[0])} says what it takes" if role.catalogue else None


def _meant(role: Role, key: str, value: FlagValue) -> Flag | None:
    return guess(key, value) if role.catalogue is None else role.catalogue.find(key)


def _named(key: str, fault: Fault) -> str:
    """The key, with the field of a table in which the fault is."""
    path = fault.path[:-1] if fault.part == "key" else fault.path
    return ".".join((key, *(str(part) for part in path))) if any(isinstance(part, str) for part in path) else key


def _chosen(case: Case, fault: Fault) -> str | None:
    """What to choose instead, where there is a choice."""
    if not fault.among:
        return None
    near = case.suggestions.nearest(fault.word, fault.among) if fault.word else None
    if near:
        return f"did you mean `{near}`?"
    shown = [f"`{choice}`" for choice in fault.among[:_MOST_CHOICES]]
    return f"choose {', '.join(shown)}{' …' * (len(fault.among) > len(shown))}"
