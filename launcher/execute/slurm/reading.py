"""What Slurm's programs print, read: pure, for the formats of Slurm 22.05 to 25.11."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from launcher.model.facts import Partition
from launcher.model.survey import Shape

JOBS = "--format=%i|%T|%r|%S|%k"
"""`squeue`: id, state, reason, expected or true start, comment; `jobs` reads it."""

PARTITIONS = "--format=%P|%a|%l|%D|%G"
"""`sinfo`: partition (with `*` the default), available, time limit, nodes, gres; `partitions` reads it."""

SHAPES = "--format=%P|%D|%c|%m|%G"
"""`sinfo --exact`: partition (with `*` the default), nodes, CPUs, memory in MiB, gres; `shapes` reads it."""

STATES = "--format=%P|%T|%D"
"""`sinfo`: partition (with `*` the default), state, nodes; `lame` reads it."""

# Nodes that were powered down to save energy wake up for a job.
_LAME = ("down", "drain", "fail", "maint", "unk", "no_respond", "future", "inval")

ACCOUNTED = "--format=JobID,State,ExitCode,Reason"
"""`sacct --parsable2`: `accounted` reads it."""

OVER = frozenset(
    (
        *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY"),
        *("PREEMPTED", "REVOKED", "TIMEOUT"),
    )
)
"""States of a job that has ended for good (Slurm 25.11 knows no others)."""

WAITING = frozenset(("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"))
"""States of a job whose batch script does not run yet."""

HALTED = frozenset(("SUSPENDED", "STOPPED"))
"""States of a job whose processes stand still: none of them hears a signal but KILL."""


@dataclass(frozen=True)
class Job:
    """A job as Slurm tells it: `id` of the leader of a heterogeneous one; `reason` and `start` are empty where
    there is none; `exit` is the batch script's exit code, `signal` what killed it.
    """

    id: str
    state: str
    reason: str = ""
    start: str = ""
    comment: str = ""
    exit: int = 0
    signal: int = 0


def submitted(text: str) -> str | None:
    """The job's id in what `sbatch --parsable` printed (`12`, or `12;cluster`, after whatever a site adds)."""
    for line in reversed(text.splitlines()):
        found = re.fullmatch(r"(\d+)(?:;\S*)?", line.strip())
        if found:
            return found[1]
    return None


def jobs(text: str) -> Iterator[Job]:
    """The jobs of `squeue`; other components of a heterogeneous job than its leader, and array tasks, left out."""
    for line in text.splitlines():
        fields = line.strip().split("|", 4)
        if len(fields) == 5 and re.fullmatch(r"\d+(\+0)?", fields[0]):
            number, state, reason, start, comment = fields
            yield Job(
                number.partition("+")[0], state, _none(reason), _none(start), comment if comment != "(null)" else ""
            )


def shown(text: str) -> Iterator[Job]:
    """The jobs of `scontrol --oneliner show job`."""
    for line in text.splitlines():
        found = pairs(line)
        if "JobId" in found and "JobState" in found:
            code, signal = _exit(found.get("ExitCode", "0:0"))
            yield Job(
                found["JobId"].partition(" ")[0],
                found["JobState"],
                _none(found.get("Reason", "")),
                _none(found.get("StartTime", "")),
                found.get("Comment", "").strip(),
                code,
                signal,
            )


def accounted(text: str) -> Iterator[Job]:
    """The jobs of `sacct`; their steps left out. `CANCELLED by 1000` is CANCELLED."""
    for line in text.splitlines():
        fields = line.strip().split("|")
        if len(fields) >= 4 and re.fullmatch(r"\d+(\+0)?", fields[0]):
            code, signal = _exit(fields[2])
            yield Job(
                fields[0].partition("+")[0], fields[1].partition(" ")[0], _none(fields[3]), exit=code, signal=signal
            )


def pairs(line: str) -> Mapping[str, str]:
    """`Key=Value Key=Value` as `scontrol` prints it; a value goes on to the next key, blanks included."""
    found = re.findall(r"(?:^|(?<=\s))([A-Z][A-Za-z0-9/:_]*)=(.*?)(?=\s+[A-Z][A-Za-z0-9/:_]*=|\s*$)", line)
    return dict(reversed(found))


def partitions(text: str) -> Mapping[str, Partition]:
    """The partitions of `sinfo`, in its order; where nodes differ, of one name several lines count together."""
    found: dict[str, Partition] = {}
    for line in text.splitlines():
        fields = line.strip().split("|")
        if len(fields) < 5:
            continue
        mark, available, limit, nodes, gres = fields[:5]
        name = mark.rstrip("*")
        before = found.get(name)
        count = int(re.sub(r"\D", "", nodes) or 0) + (before.nodes if before else 0)
        kinds = dict.fromkeys(
            ([before.gres] if before and before.gres else []) + ([_none(gres)] if _none(gres) else [])
        )
        found[name] = Partition(name, available == "up", limit_seconds(limit), count, ",".join(kinds), mark != name)
    return found


def shapes(text: str) -> Iterator[Shape]:
    """The kinds of nodes of `sinfo --exact`, partition by partition."""
    for line in text.splitlines():
        fields = line.strip().split("|")
        if len(fields) == 5 and all(number.isdecimal() for number in fields[1:4]):
            name = fields[0].rstrip("*")
            nodes, cpus, memory = map(int, fields[1:4])
            yield Shape(name, name != fields[0], nodes, cpus, memory, _none(fields[4]))


def lame(text: str, partition: str | None) -> tuple[int, int]:
    """How many nodes of a partition (None: the default) cannot take a job now, down or drained, and of how many."""
    out = total = 0
    for line in text.splitlines():
        fields = line.strip().split("|")
        if len(fields) != 3 or not fields[2].isdecimal():
            continue
        name = fields[0].rstrip("*")
        if name == partition or (partition is None and name != fields[0]):
            total += int(fields[2])
            out += int(fields[2]) if fields[1].lower().startswith(_LAME) else 0
    return out, total


def settings(text: str) -> Mapping[str, str]:
    """What `scontrol show config` tells: key → value."""
    return dict(re.findall(r"^(\S+)[ \t]*=[ \t]*(.*?)[ \t]*$", text, re.MULTILINE))


def limit_seconds(text: str) -> int | None:
    """Slurm's `D-HH:MM:SS`, `HH:MM:SS` or `MM:SS` in seconds; None for `infinite`, `UNLIMITED`, `n/a`."""
    found = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", text.strip())
    if found is None:
        return None
    days, hours, minutes, rest = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def version(text: str) -> str:
    """Of `sinfo --version`: `slurm 24.11.5` and Debian's `slurm-wlm 22.05.8`; empty where it is no version."""
    found = re.search(r"\b\d+\.\d+(?:\.\d+)?", text)
    return found[0] if found else ""


def mpis(text: str) -> tuple[str, ...]:
    """The types of `srun --mpi=list`: one a line after a heading, before 22.05 behind `srun:`."""
    names = []
    for line in text.splitlines():
        found = re.fullmatch(r"(?:srun:)?\s+([a-z0-9_]+)", line)
        if found:
            names.append(found[1])
    versions = re.search(r"plugin versions available: (.*)", text)
    return (*names, *(re.split(r"[,\s]+", versions[1].strip()) if versions else ()))


def _exit(text: str) -> tuple[int, int]:
    code, _, signal = text.partition(":")
    return (int(code) if code.isdigit() else 0, int(signal) if signal.isdigit() else 0)


def _none(text: str) -> str:
    return "" if text in ("None", "N/A", "Unknown", "(null)", "n/a") else text


def options(text: str, start: str) -> tuple[str, ...]:
    """The long options of `srun --help` that begin with `start`, without dashes, each once."""
    found = re.findall(r"^\s+(?:-\w, )?--([a-z][a-z-]*)", text, re.MULTILINE)
    return tuple(dict.fromkeys(name for name in found if name.startswith(start)))
