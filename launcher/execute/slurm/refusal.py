"""Slurm's own words for refusing something, and what they mean."""

import re
from collections.abc import Sequence

from launcher.run.record import record
from launcher.text.diagnostic import Diagnostic, Refused

CODES = {
    "slurm-refused": """Slurm refused the job

`sbatch --test-only` is asked before anything is submitted, and `sbatch` itself may refuse later. The message has
Slurm's own words. A request that no node can ever meet would otherwise wait for ever. Exit code 5.""",
    "nodes-down": """The job has to wait for nodes that are down

The partition has enough nodes, but so many are down or drained that the job cannot start before some are back. Slurm
accepts such a job. This is a warning.""",
    "slurm-absent": """Slurm is not there

A program of Slurm (`sbatch`, `squeue`, `scancel`) could not be run, or slurmctld did not answer. Runs on a cluster
are started on one of its login nodes. Exit code 5.""",
    "slurm-unsure": """Nobody knows whether the job was submitted

`sbatch` failed in a way that leaves it open, and Slurm does not list a job of that name yet. The run directory is
kept: `launch up` of the same recipe finds the job, or submits it, and `launch down` ends it. Exit code 5.""",
    "allocation-unfit": """The allocation cannot take the run

`launch up --in JOBID`, the default inside `salloc`, runs in an allocation that is there already. It has to run, to
be yours, and to have as many nodes as the plan. A shell that outlived its allocation (tmux, screen) still names it in
`SLURM_JOB_ID`: `unset SLURM_JOB_ID`, or `--in new`. Exit code 5.""",
}
"""Code → what `launch explain CODE` prints; the first line is its summary."""


@record
class Meaning:
    """Words of Slurm (`pattern`; case does not matter), what to do about them, and the keys of recipe or cluster file
    that may have caused them, the likeliest first.
    """

    pattern: str
    advice: str
    keys: tuple[tuple[str, ...], ...] = ()


def _sbatch(*options: str) -> tuple[tuple[str, ...], ...]:
    return tuple(("slurm", "sbatch", option) for option in options)


MEANINGS: Sequence[Meaning] = (
    Meaning(
        r"AssocGrp|QOSMax|job violates|submit limit", "a limit of your account or QOS is reached: `sacctmgr show qos`"
    ),
    Meaning(
        r"invalid partition|invalid partition name",
        "`sinfo` lists the partitions; `[slurm] partition` names one",
        (("slurm", "partition"),),
    ),
    Meaning(
        r"invalid account|account/partition combination",
        "`sacctmgr show assoc user=$USER` lists yours; `[slurm] account` names one",
        (("slurm", "account"), ("slurm", "partition")),
    ),
    Meaning(
        r"invalid qos",
        "`sacctmgr show assoc user=$USER format=qos` lists yours; `[slurm] qos` names one",
        (("slurm", "qos"),),
    ),
    Meaning(
        r"feature specification", "`sinfo -o '%P %f'` lists the features of nodes", _sbatch("constraint", "prefer")
    ),
    Meaning(r"invalid node name", "`sinfo -Nh -o %N` lists the nodes", _sbatch("nodelist", "exclude")),
    Meaning(
        r"reservation is invalid|access denied to requested reservation",
        "`scontrol show reservation` lists the reservations, their times and whose they are",
        _sbatch("reservation"),
    ),
    Meaning(r"license specification", "`scontrol show licenses` lists the licenses", _sbatch("licenses")),
    Meaning(
        r"node configuration is not available|more processors requested|PartitionNodeLimit",
        "no node of the partition has what a node is asked for: compare `[node]` of the cluster file with `sinfo -Nel`",
    ),
    Meaning(r"node count specification|too many nodes", "the partition has fewer nodes, or allows fewer a job"),
    Meaning(r"time limit", "`sinfo -o '%P %l'` shows the limits; `[slurm] time` asks for less", (("slurm", "time"),)),
    Meaning(
        r"generic resource|gres",
        "`sinfo -o '%P %G'` shows what nodes have; `[node] gpu_request` says how to ask",
        (*_sbatch("gres"), ("node", "gpu_request")),
    ),
    Meaning(
        r"memory specification|requested memory",
        "`[node] memory` of the cluster file is more than Slurm's nodes have",
        (("node", "memory"),),
    ),
    Meaning(
        r"unrecognized option|invalid option",
        "this Slurm does not know the option: look at `versions.slurm` and `[slurm]`",
    ),
    Meaning(r"invalid job credential|munge", "munge does not work on this machine: `munge -n | unmunge` tests it"),
    Meaning(
        r"configuration source|fetch config",
        "this machine belongs to no Slurm cluster: start on a login node, or set `SLURM_CONF`",
    ),
    Meaning(
        r"unable to contact|socket timed out|connection refused|timed out on send",
        "slurmctld does not answer: `scontrol ping`",
    ),
)
"""What Slurm says (its `slurm_errno.c`, 22.05 to 25.11) when it refuses; the first that is found counts."""

_UNSURE = re.compile(r"timed out|unable to contact|communication|zero bytes|connection|expired", re.IGNORECASE)
_PREFIX = re.compile(
    r"^(?:sbatch|scancel|squeue|srun|salloc|sinfo|scontrol|sacctmgr|allocation failure): (?:error: )?"
    r"|^(?:error|fatal): "
)


def refused(said: str, code: str = "slurm-refused") -> Refused:
    """Slurm's refusal as an exception to raise, its words translated where they are known."""
    lines = words(said)
    message = lines[-1] if lines else "no reason was given"
    notes = tuple(lines[:-1])
    return Refused([Diagnostic(code, f"Slurm: {message}", None, notes=notes, help=advice(said), exit=5)])


def absent(program: str, reason: str) -> Refused:
    """A program of Slurm that cannot be run."""
    return Refused(
        [
            Diagnostic(
                "slurm-absent",
                f"`{program}` cannot be run: {reason}",
                None,
                help="start the run on a login node of the cluster; `--cluster local` runs on this machine",
                exit=5,
            )
        ]
    )


class Silent(Refused):
    """Slurm did not answer; it may yet."""


def silent(program: str, patience: float) -> Silent:
    """A program of Slurm that did not end in time."""
    message = f"`{program}` did not answer within {patience:g} s"
    return Silent([Diagnostic("slurm-absent", message, None, help=advice("unable to contact"), exit=5)])


def words(said: str) -> list[str]:
    """The lines of a message without the names of programs before them."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    while any(_PREFIX.match(line) for line in lines):
        lines = [_PREFIX.sub("", line) for line in lines]
    return list(dict.fromkeys(line.removeprefix("Batch job submission failed: ") for line in lines))


def meaning(said: str) -> Meaning | None:
    """What Slurm's words mean, where that is known."""
    return next((each for each in MEANINGS if re.search(each.pattern, said, re.IGNORECASE)), None)


def advice(said: str) -> str | None:
    """What to do about it."""
    found = meaning(said)
    return found.advice if found else None


def unsure(said: str) -> bool:
    """Whether the job may have been accepted all the same."""
    return _UNSURE.search(said) is not None
