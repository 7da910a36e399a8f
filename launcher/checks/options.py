"""Options of `sbatch` and `srun` beside those the launcher sets: known, free to be set, and of the right shape."""

from collections.abc import Iterator, Mapping

from launcher.checks.case import Case
from launcher.checks.flags import without
from launcher.model.catalogue import Flag, faults
from launcher.model.option import PROGRAMS, option, plain
from launcher.model.recipe import FlagValue
from launcher.text.diagnostic import Diagnostic, Place

_JOB = "the supervisor relies on it"
_KEY = "`[slurm] {}`"
_NODES = "it follows from roles, replicas and `gpus`"
_FILES = "logs are in the run directory: `launch logs`"
_ENV = "`env` and `env_from` of roles, `inherit` of the cluster"
_GPUS = "`[node] gpu_request` in the cluster file"
_CPUS = "`[slurm] exclusive` and `[node] cpus` in the cluster file"
_STEP = "steps share their nodes; a share of memory or CPUs of their own they cannot have"

_BOTH: Mapping[str, str] = {
    **{key: _KEY.format(key) for key in ("partition", "account", "qos", "time", "segment")},
    **dict.fromkeys(("nodes", "ntasks", "ntasks-per-node", "nodefile", "distribution", "clusters"), _NODES),
    **dict.fromkeys(("output", "error", "input", "open-mode"), _FILES),
    **dict.fromkeys(("export", "export-file", "get-user-env"), _ENV),
    **dict.fromkeys(("job-name", "comment", "chdir", "signal", "quiet", "verbose", "test-only", "begin", "hold"), _JOB),
    **dict.fromkeys(("gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "ntasks-per-gpu"), _GPUS),
    "container": "`runtime` of the cluster: Slurm's own option starts the role on the node itself",
    "container-id": "`runtime` of the cluster: Slurm's own option starts the role on the node itself",
    "exclusive": "`[slurm] exclusive` in the cluster file",
    "cpus-per-task": _CPUS,
    "cpus-per-gpu": _CPUS,
}

OWNED: Mapping[str, Mapping[str, str]] = {
    "sbatch": {
        **_BOTH,
        **dict.fromkeys(("array", "wrap", "wait", "parsable", "requeue", "no-requeue", "uid", "gid"), _JOB),
    },
    "srun": {
        **_BOTH,
        **dict.fromkeys(("mem", "mem-per-cpu", "mem-per-gpu", "exact", "gres", "tres-per-task", "overcommit"), _STEP),
        **dict.fromkeys(("jobid", "het-group", "overlap", "nodelist", "exclude", "relative", "contiguous"), _NODES),
        **dict.fromkeys(("kill-on-bad-exit", "wait", "label", "pty", "unbuffered", "multi-prog", "no-allocate"), _JOB),
        **dict.fromkeys(("immediate", "async", "quit-on-interrupt", "disable-status", "preserve-env"), _JOB),
        "mpi": "`[slurm] mpi` in the cluster file",
        "cpu-bind": "a step runs on all CPUs of its job",
    },
}
"""Program → its options that the launcher sets, or that would undo what it does → what to use instead."""


def unknown_option(case: Case) -> Iterator[Diagnostic]:
    """Slurm has no such option

    `[slurm.sbatch]` and `[slurm.srun]` hold options of these programs by their long names, without dashes in
    front. Options come and go with releases: `[versions] slurm` of the cluster says which one is meant. Slurm
    itself would end `sbatch` at a misspelt one, and `srun` only when the nodes are there.

        [slurm.sbatch]
        reservaton = "bench"            # did you mean `reservation`?
    """
    for program, key, _, place in _options(case, "key"):
        catalogues = case.job.options.get(program, ())
        if key in OWNED[program] or option(catalogues, key) is not None or not catalogues:
            continue
        version = case.job.cluster.versions.slurm
        dashes = "" if key.startswith("-") else "--"
        yield Diagnostic(
            "unknown-option",
            f"{program}{f' of Slurm {version}' if version else ''} has no option `{dashes}{key}`",
            place,
            help=_meant(case, program, key),
        )


def _meant(case: Case, program: str, key: str) -> str:
    """What to write instead of an option that is not known."""
    flags = [flag for catalogue in case.job.options[program] for flag in catalogue.flags.values()]
    names = {spelling.lstrip("-"): flag.key for flag in flags for spelling in flag.spellings}
    bare = key.strip("-_").replace("_", "-")
    near = names.get(bare) or names.get(case.suggestions.nearest(bare, names) or "")
    if near is None:
        return f"`{program} --help` lists them"
    advice = _owner(case, program, near)
    if advice is not None:
        return f"did you mean `{near}`? That is for the launcher alone to set: {advice}"
    return f"did you mean `{near}`?" if not key.startswith("-") else f"write it without dashes: `{near}`"


def owned_option(case: Case) -> Iterator[Diagnostic]:
    """An option of Slurm that is for the launcher alone to set

    How many nodes a job has, where its steps run, where they write and what they see follows from the plan;
    partition, account, QoS and time limit have keys of their own. Slurm takes the last of two: the plan would
    no longer be what runs.

        [slurm.sbatch]
        nodes = 4                       # roles, replicas and `gpus` say so
        partition = "gpu"               # `[slurm] partition`
    """
    for program, key, _, place in _options(case, "key"):
        advice = _owner(case, program, key.lstrip("-").replace("_", "-"))
        if advice is not None:
            yield Diagnostic(
                "owned-option",
                f"`--{key.lstrip('-')}` of {program} is for the launcher alone to set",
                place,
                help=without(advice),
            )


def option_value(case: Case) -> Iterator[Diagnostic]:
    """An option of Slurm cannot take its value

    A switch is `true`; other options take text or a number, and a list where Slurm reads one with commas. What
    is not wanted is left out: Slurm's switches have no negative form.

        [slurm.sbatch]
        contiguous = "yes"              # a switch: write `true`
        exclude = ["node7", "node9"]
    """
    for program, key, value, place in _options(case, "value"):
        flag = option(case.job.options.get(program, ()), key)
        if flag is None or key in OWNED[program]:
            continue
        yield from (
            Diagnostic("option-value", f"`{key}` {phrase}", place, help=advice or f"`man {program}` says what it takes")
            for phrase, advice in _faults(flag, value)
        )


def _faults(flag: Flag, value: FlagValue) -> Iterator[tuple[str, str | None]]:
    if isinstance(value, dict):
        yield "takes no table", None
        return
    for fault in faults(flag, plain(value)):
        yield fault.phrase, fault.help


def _owner(case: Case, program: str, key: str) -> str | None:
    if program == "sbatch" and key == "gres" and case.job.cluster.node.gpu_request == "gres":
        return _GPUS
    return OWNED[program].get(key)


def _options(case: Case, part: str) -> Iterator[tuple[str, str, FlagValue, Place]]:
    """Program, option, value and place of each, the cluster's before the recipe's; none on this machine."""
    if case.job.cluster.scheduler == "local":
        return
    cluster, recipe = case.job.cluster.slurm, case.job.recipe.slurm
    for program in PROGRAMS:
        for table, origins in ((cluster, case.job.cluster_origins), (recipe, case.job.origins)):
            for key, value in getattr(table, program).items():
                path = ("slurm", program, key)
                yield program, key, value, origins.place(path, "key" if part == "key" else "value")
