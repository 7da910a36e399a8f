"""Rules over job and plan. A check is a generator; its docstring is what `launch explain CODE` prints."""

from collections.abc import Iterator, Mapping

from launcher.checks import (
    configs,
    environment,
    flags,
    flagvalues,
    layout,
    manifests,
    mounts,
    options,
    placement,
    ports,
    preambles,
    runtime,
    slurm,
)
from launcher.checks.allow import allowed, unknown_allowed
from launcher.checks.case import Case, Check
from launcher.checks.rules import RULES as BETWEEN
from launcher.model.findings import EXPLANATIONS
from launcher.model.job import Job
from launcher.roles.base import Adapters
from launcher.text.diagnostic import Diagnostic, ordered

__all__ = ["AUDITED", "CHECKS", "FIRM", "Case", "Check", "allowed", "check", "codes_of", "spoken"]

_RULES = (
    layout.worker_missing,
    layout.modes_mixed,
    layout.half_missing,
    layout.nothing_started,
    layout.key_not_read,
    placement.gpus_idle,
    flags.owned_flag,
    flags.unknown_flag,
    flagvalues.flag_value,
    configs.config_value,
    configs.said_in_config,
    flags.exclusive_flags,
    flags.overridden_flag,
    flags.abbreviated_flag,
    flags.deprecated_flag,
    flags.catalogue_missing,
    *BETWEEN,
    ports.port_privileged,
    ports.port_taken_twice,
    mounts.mount_path,
    mounts.mount_target_twice,
    mounts.mount_target_hides,
    mounts.mounts_ignored,
    environment.environment_name,
    environment.owned_variable,
    environment.tool_variable,
    environment.environment_twice,
    environment.environment_value,
    environment.secret_in_file,
    preambles.setup_line_ends,
    manifests.unknown_placeholder,
    manifests.benchmark_gated,
    manifests.relative_program,
    manifests.image_unusable,
    runtime.apptainer_too_old,
    runtime.driver_too_old,
    slurm.containers_without_slurm,
    slurm.time_too_short,
    slurm.segment_impossible,
    slurm.cpus_unknown,
    slurm.inherited_variable,
    options.unknown_option,
    options.owned_option,
    options.option_value,
)

_SPOKEN = (
    flags.owned_flag,
    flags.unknown_flag,
    flagvalues.flag_value,
    configs.config_value,
    flags.exclusive_flags,
    environment.environment_name,
    environment.owned_variable,
    environment.secret_in_file,
)

CHECKS: Mapping[str, Check] = {
    **{rule.__name__.replace("_", "-"): rule for rule in _RULES},
    **placement.PLANNED,
}
"""Code → check, which yields findings of that code alone. What only one kind of role can have its adapter checks."""

_UNSTARTABLE = ("environment-name", "image-unusable", "containers-without-slurm", "apptainer-too-old")

FIRM = frozenset({*placement.PLANNED, *_UNSTARTABLE, "unknown-allowed"})
"""Codes that `allow` cannot turn into warnings: there would be nothing to plan, or nothing to start."""


AUDITED = (
    "port-in-use",
    "variable-absent",
    "program-absent",
    "program-version",
    "setup-syntax",
    "envoy-lacks-cluster",
    "envoy-refuses",
    "partition-unusable",
    "time-over-limit",
    "gpus-absent",
    "pyxis-absent",
    "mpi-unknown",
    "account-unknown",
    "image-absent",
    "image-unseen",
    "image-of-other-nodes",
    "image-lacks-program",
    "image-lacks-package",
    "image-version",
    "driver-refused",
    "image-moved",
    "image-unlocked",
    "mount-absent",
    "model-absent",
    "experts-absent",
    "heads-not-shared",
    "layers-too-few",
    "experts-not-shared",
)
"""Codes of `audit.AUDITS`, which `allow` may name. What only `up` asks is not imported for a check."""


def check(job: Job, adapters: Adapters) -> list[Diagnostic]:
    """Everything that is wrong with `job`, in the order it is told, warnings of linking included.

    `adapters` has one for every role. Errors that the recipe's `allow` lists are warnings that say so.
    """
    case = Case(job, adapters)
    codes = _allowable(adapters) if job.recipe.allow else {}
    found = [*job.findings, *_found(case), *unknown_allowed(case, codes)]
    once = {(finding.code, finding.place or finding.message, finding.message): finding for finding in reversed(found)}
    return ordered(allowed(reversed(once.values()), [code for code in job.recipe.allow if codes.get(code)]))


def spoken(job: Job) -> list[Diagnostic]:
    """What is wrong with flags and environments of the roles of a job that cannot be linked: what needs no more."""
    case = Case(job, {})
    found = [finding for rule in _SPOKEN for finding in rule(case)]
    return ordered(allowed(found, job.recipe.allow))


def _allowable(adapters: Adapters) -> dict[str, bool]:
    """Code of every finding → whether `allow` may name it."""
    codes = dict.fromkeys(EXPLANATIONS, False) | dict.fromkeys([*CHECKS, *AUDITED, *codes_of(adapters)], True)
    return codes | dict.fromkeys(FIRM, False)


def _found(case: Case) -> Iterator[Diagnostic]:
    for rule in CHECKS.values():
        yield from rule(case)
    for role in case.job.roles:
        adapter = case.adapters[role.manifest.adapter]
        yield from adapter.check(case.job, role, case.endpoints)
        if role.beside is not None:
            yield from adapter.placed(case.job, role, case.placed)


def codes_of(adapters: Adapters) -> Mapping[str, str]:
    """Code → page, of what adapters find."""
    return {code: page for adapter in adapters.values() for code, page in adapter.codes.items()}
