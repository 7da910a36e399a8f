"""Flags of a role against the catalogue of its program, and against what the launcher sets itself."""

import re
from collections.abc import Iterator

from launcher.checks.case import Case
from launcher.checks.flagnames import Hint, meant
from launcher.model.catalogue import Catalogue
from launcher.model.given import spoken
from launcher.model.job import Role
from launcher.text.advice import typed
from launcher.text.diagnostic import Diagnostic, Label, Severity


def unknown_flag(case: Case) -> Iterator[Diagnostic]:
    """The role's program has no such flag

    The program would end the moment it starts, after the nodes were waited for; some take what they do not
    know for something else. Flags are looked up in the catalogue of the program and version that the role
    runs. Keys have no dashes in front, and are spelt as the program spells them: with dashes or underscores.

        [router]
        kind = "smg"
        flags = { polcy = "random" }        # smg 1.13.0 has no flag `--polcy`: did you mean `policy`?

    The help line says what to write instead: what the program said when it still had the flag, what other
    programs call the same thing, which version has it, or else the nearest name. Where only another version
    has a catalogue this is a warning: the flag may have come or gone since.
    """
    for role, catalogue in catalogued(case):
        for table, key, _ in spoken(role):
            flag = catalogue.find(key)
            if (flag is not None and not flag.retired) or owner(role, key) is not None:
                continue
            hint = _told(role, meant(role.kin, catalogue, key, case.suggestions.nearest))
            yield Diagnostic(
                "unknown-flag",
                _headline(catalogue, key),
                role.place(table, key, part="key"),
                severity(role, catalogue),
                notes=(*hint.notes, *drift(role, catalogue)),
                help=hint.help or f"{shown(catalogue)} lists its flags",
                rename=None if drift(role, catalogue) else hint.rename,
            )


def _headline(catalogue: Catalogue, key: str) -> str:
    program, named = f"{catalogue.program} {catalogue.version}", f"`--{key.lstrip('-')}`"
    if catalogue.find(key) is not None:
        return f"{program} ends at {named}, which it has no longer"
    if catalogue.find(key.lstrip("-")) is not None:
        return f"`{key}` has dashes in front, which keys have not"
    return f"{program} has no flag {named}"


def _told(role: Role, hint: Hint) -> Hint:
    """The hint, where it leads to a flag that would be refused in its turn with what to do about that."""
    owned = owner(role, hint.key) if hint.key else None
    if owned is None or hint.help is None:
        return hint
    stop = "" if hint.help.endswith("?") else "."
    return hint._replace(help=f"{hint.help}{stop} The launcher sets that: {role.manifest.owned[owned]}", rename=None)


def owned_flag(case: Case) -> Iterator[Diagnostic]:
    """A flag for the launcher alone to set

    Addresses, ports and the list of workers follow from the plan, and other roles are told the same. A
    second value would be ignored, or worse, obeyed by one side only: the router would ask a port on which
    nobody listens. The help line says what to use instead.

        [roles.worker]
        flags = { port = 9000 }             # `[ports] shift` moves every port
    """
    for role in case.job.roles:
        for table, key, _ in spoken(role):
            owned = owner(role, key)
            if owned is not None:
                yield Diagnostic(
                    "owned-flag",
                    f"`--{owned}` is for the launcher alone to set",
                    role.place(table, key, part="key"),
                    help=without(role.manifest.owned[owned]),
                )


def exclusive_flags(case: Case) -> Iterator[Diagnostic]:
    """Two flags exclude each other

    The program takes one of them and ends when it is given both.

        flags = { service-discovery = true, discovery-provider = "file" }
    """
    for role, catalogue in catalogued(case):
        for group in catalogue.exclusive:
            given = [
                (table, key)
                for table, key, value in spoken(role)
                if value is not False and _name(catalogue, key) in group
            ]
            for path in given[1:]:
                yield Diagnostic(
                    "exclusive-flags",
                    f"{catalogue.program} takes `{given[0][1]}` or `{path[1]}`, not both",
                    role.place(*path, part="key"),
                    labels=(Label(role.place(*given[0], part="key"), "the other one"),),
                    help="keep one of them",
                )


def overridden_flag(case: Case) -> Iterator[Diagnostic]:
    """A field given by itself takes the place of the whole flag

    vLLM joins fields that are given by themselves into one value and appends it: of a table for the same flag
    nothing is left, without a word.

        flags = { kv-transfer-config = { kv_connector = "NixlConnector" }, "kv-transfer-config.kv_role" = "kv_both" }
    """
    for role, catalogue in catalogued(case):
        whole = {
            flag.name: (table, key)
            for table, key, _ in spoken(role)
            if (flag := catalogue.find(key)) and not flag.within
        }
        for table, key, _ in spoken(role):
            flag = catalogue.find(key)
            base = whole.get(flag.name.partition(".")[0]) if flag and flag.within else None
            if base is not None:
                yield Diagnostic(
                    "overridden-flag",
                    f"`{key}` takes the place of all that `{base[1]}` says",
                    role.place(table, key, part="key"),
                    labels=(Label(role.place(*base, part="key"), "of this nothing is left"),),
                    help=f"write it in `{base[1]}`",
                )


def abbreviated_flag(case: Case) -> Iterator[Diagnostic]:
    """A flag is cut short

    The program takes any beginning of a flag that no other has (Python's argparse does so), and the whole
    flag is passed on. A version that adds a flag of the same beginning refuses it. This is a warning.

        flags = { log-lev = "debug" }       # `log-level`
    """
    for role, catalogue in catalogued(case):
        for table, key, _ in spoken(role):
            flag = catalogue.find(key)
            spelt = key.replace("_", "-") if catalogue.folds else key
            if flag is not None and not flag.within and not {f"--{spelt}", f"-{spelt}"} & {*flag.spellings}:
                yield Diagnostic(
                    "abbreviated-flag",
                    f"`{key}` is short for `{flag.key}`",
                    role.place(table, key, part="key"),
                    Severity.WARNING,
                    help=f"write `{flag.key}`",
                    rename=flag.key,
                )


def deprecated_flag(case: Case) -> Iterator[Diagnostic]:
    """The program is going to drop a flag

    It still takes it, and says itself that a later version will not. This is a warning; `launch check --fix`
    writes the new name where the program names one that takes the same value.

        flags = { nsa-decode-backend = "trtllm" }      # SGLang 0.5.16: `dsa-decode-backend`
    """
    for role, catalogue in catalogued(case):
        for table, key, _ in spoken(role):
            flag = catalogue.find(key)
            if flag is None or not flag.deprecated or flag.retired or owner(role, key) is not None:
                continue
            other = catalogue.find(flag.instead.lstrip("-")) if flag.instead else None
            same = other is not None and other.kind == flag.kind and other.arity == flag.arity
            yield Diagnostic(
                "deprecated-flag",
                f"{catalogue.program} {catalogue.version} calls `--{flag.key}` deprecated",
                role.place(table, key, part="key"),
                Severity.WARNING,
                notes=drift(role, catalogue),
                help=f"use `{flag.instead.lstrip('-')}`" if flag.instead else "a later version will not take it",
                rename=other.key if same and other and not drift(role, catalogue) else None,
            )


def catalogue_missing(case: Case) -> Iterator[Diagnostic]:
    """There is no flag catalogue of the program's version

    Flags are then compared with the nearest version's, and what is found are warnings; without any they are
    passed as they stand. This is a warning. A catalogue is a file `manifests/flags/PROGRAM/VERSION.json`, which
    `launch flags harvest PROGRAM VERSION` makes from the program itself. Which version an image has, `version` in
    the role says, or the image alias, or the tag of an image whose tags are the program's versions:

        [images]
        smg = { reference = "docker.io/lightseekorg/smg:v1.13.0", versions = { smg = "1.13.0" } }
    """
    for role in case.job.roles:
        program, catalogue = role.manifest.program.name, role.catalogue
        if program is None or not any(spoken(role)) or (catalogue is not None and catalogue.version == role.version):
            continue
        wanted = f"{program} {role.version}" if role.version else program
        key = ("version",) if ("version",) in role.origins.chains else (next(spoken(role))[0],)
        checked = f"checked against those of {catalogue.version}" if catalogue else "passed unchecked"
        yield Diagnostic(
            "catalogue-missing",
            f"there is no flag catalogue of {wanted}: its flags are {checked}",
            role.place(*key),
            Severity.WARNING,
            help=f"{typed('flags harvest', program, role.version)} makes one"
            if role.version
            else "say `version` in the role, or `versions` of the image alias",
        )


def shown(catalogue: Catalogue, *part: str) -> str:
    """The command that shows the flags of the catalogue, or those that have `part` in their names."""
    return typed("flags show", f"{catalogue.program}@{catalogue.version}", *part)


def without(advice: str) -> str:
    """What to do about what the launcher sets: the advice is the key that says it, or why it does."""
    key = re.fullmatch(r"`[^`]+`( (?:in|of) [^:,]+)?", advice)
    return f"take it out; set {advice} instead" if key else f"take it out: {advice}"


def catalogued(case: Case) -> Iterator[tuple[Role, Catalogue]]:
    """Roles whose program has a catalogue."""
    for role in case.job.roles:
        if role.catalogue is not None:
            yield role, role.catalogue


def owner(role: Role, key: str) -> str | None:
    """The owned flag that `key` means, in any spelling of it, known to the program or not."""
    if not role.manifest.owned:
        return None
    bare = key.lstrip("-").replace("_", "-")
    if bare in role.manifest.owned:
        return bare
    flag = role.catalogue.find(key) if role.catalogue else None
    if flag is None or role.catalogue is None:
        return None
    whole = flag.name.partition(".")[0]
    found = {name: role.catalogue.find(name) for name in role.manifest.owned}
    return next((name for name, owned in found.items() if owned and (flag.same(owned) or owned.name == whole)), None)


def severity(role: Role, catalogue: Catalogue | None) -> Severity:
    """How much a finding weighs that another version's catalogue may be the reason of."""
    return Severity.WARNING if drift(role, catalogue) else Severity.ERROR


def drift(role: Role, catalogue: Catalogue | None) -> tuple[str, ...]:
    """Why a finding may be wrong: the catalogue is another version's."""
    if catalogue is None or catalogue.version == role.version:
        return ()
    if role.version is None:
        return (f"nobody says which version of {catalogue.program} the role runs",)
    return (f"the role runs {catalogue.program} {role.version}, which has no flag catalogue",)


def _name(catalogue: Catalogue, key: str) -> str | None:
    flag = catalogue.find(key)
    return flag.name if flag else None
