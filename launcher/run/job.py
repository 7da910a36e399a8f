"""The Slurm job that a run is in, as its environment and Slurm tell it."""

import re
from typing import Any, Dict, List, Mapping, Optional, Sequence

from launcher.run import account, outcome
from launcher.run.outcome import Verdict
from launcher.run.script import bind, ref

_LEFT = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)")

# Slurm looks at time limits every half minute, and sends its warning up to a minute early (22.05).
_EARLY = 90.0
_ENDING = ("COMPLETING", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "DEADLINE", "STOPPED")


def slots(environ: Mapping[bytes, bytes]) -> Dict[str, str]:
    """Late references that the environment of the batch script knows: `job`, `jobs`, `path`, `user`, `home`.

    Raises ValueError outside a job.
    """
    job = _get(environ, "SLURM_JOB_ID")
    if not job:
        raise ValueError("SLURM_JOB_ID is not set: this is no Slurm job")
    found = {"job": job, "jobs": ",".join(_groups(environ, "SLURM_JOB_ID") or [job])}
    found["path"] = _get(environ, "PATH")
    somebody = account.known({name: _get(environ, name) for name in ("USER", "HOME")})
    found["user"], found["home"] = somebody.get("USER", ""), somebody.get("HOME", "")
    return found


def nodelists(environ: Mapping[bytes, bytes]) -> List[str]:
    """The job's nodes in Slurm's notation, one text for each component."""
    return _groups(environ, "SLURM_JOB_NODELIST") or [_get(environ, "SLURM_JOB_NODELIST")]


def hostnames(lists: Sequence[str]) -> List[List[str]]:
    """The words that print one node a line, for each of the lists."""
    return [["scontrol", "show", "hostnames", each] for each in lists]


def question(job: str) -> List[str]:
    """The words that ask how the job is, for `why`."""
    return ["squeue", "--noheader", "--states=all", "--jobs=%s" % job, "--format=%T|%L|%r"]


def why(job: str, answer: str, warning: Optional[float]) -> Optional[Verdict]:
    """Why Slurm has the run end, from what `question` printed; None where Slurm did not.

    `warning` is how long before the time limit (seconds) Slurm was asked to signal; None where no signal came.
    """
    lines = [line.split("|") for line in answer.splitlines() if line.count("|") == 2]
    states = {fields[0] for fields in lines}
    reasons = {fields[2] for fields in lines}
    rest = left(answer)
    if "NODE_FAIL" in states or "NodeDown" in reasons:
        return Verdict(outcome.FAILED, 7, "a node of job %s failed (NODE_FAIL)" % job)
    near = warning is not None and rest is not None and rest <= warning + _EARLY
    if "TIMEOUT" in states or "TimeLimit" in reasons or near:
        return timeout(job)
    if "PREEMPTED" in states:
        return Verdict(outcome.CANCELLED, 7, "job %s was preempted" % job)
    if states & set(_ENDING):
        return Verdict(outcome.CANCELLED, 7, "job %s was cancelled" % job)
    return None


def timeout(job: str) -> Verdict:
    """The verdict at the time limit."""
    return Verdict(outcome.TIMEOUT, 7, "the time limit of job %s was reached" % job)


def left(answer: str) -> Optional[float]:
    """Seconds until the time limit, from what `question` printed; None where there is none."""
    fields = [line.split("|")[1] for line in answer.splitlines() if line.count("|") == 2]
    return min((found for found in map(seconds, fields) if found is not None), default=None)


def seconds(left: str) -> Optional[float]:
    """Slurm's `D-HH:MM:SS` or `MM:SS` in seconds; None for UNLIMITED and the like."""
    found = _LEFT.fullmatch(left.strip())
    if found is None:
        return None
    days, hours, minutes, rest = (int(part or 0) for part in found.groups())
    return ((days * 24.0 + hours) * 60.0 + minutes) * 60.0 + rest


def _groups(environ: Mapping[bytes, bytes], name: str) -> List[str]:
    size = _get(environ, "SLURM_HET_SIZE")
    count = int(size) if size.isdigit() else 0
    return [_get(environ, "%s_HET_GROUP_%d" % (name, number)) for number in range(count)]


def _get(environ: Mapping[bytes, bytes], name: str) -> str:
    return environ.get(name.encode("ascii"), b"").decode("utf-8", "surrogateescape")


class _Known(Dict[str, str]):
    """Late references whose unknown ones stay as they are."""

    def __missing__(self, name: str) -> str:
        return ref(name)


def bind_known(value: Any, slots: Mapping[str, str]) -> Any:
    """As `bind`, but marks without a slot stay."""
    return bind(value, _Known(slots))
