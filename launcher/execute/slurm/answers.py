"""Answers to the questions of audits that Slurm knows; where it does not answer, none is a reason to refuse."""

import os

from launcher.execute.slurm import queue, reading
from launcher.execute.world import Ran, Real
from launcher.model.facts import Accounts, Answer, Mpis, Options, Partitions
from launcher.text.diagnostic import Refused

_WHERE = "this machine, by Slurm's own programs"


def partitions(question: Partitions) -> Answer:
    """The partitions of `sinfo`."""
    ran = _ask("sinfo", "--all", "--noheader", reading.PARTITIONS)
    found = tuple(reading.partitions(ran.out).values())
    return Answer(yes=ran.exit == 0 and bool(found), text=ran.err.strip(), where=_WHERE, partitions=found)


def options(question: Options) -> Answer:
    """The options of `srun --help`, plugins' among them."""
    ran = _ask("srun", "--help")
    found = reading.options(ran.out, question.start)
    return Answer(yes=ran.exit == 0 and bool(found), where=_WHERE, words=found)


def mpis(question: Mpis) -> Answer:
    """The types of `srun --mpi=list`."""
    ran = _ask("srun", "--mpi=list")
    # Slurm before 22.05 prints them on standard error.
    found = reading.mpis(ran.out) or reading.mpis(ran.err)
    return Answer(yes=bool(found), where=_WHERE, words=found)


def accounts(question: Accounts) -> Answer:
    """The accounts of this user, where there is accounting."""
    ran = _ask("sacctmgr", "--noheader", "--parsable2", "show", "assoc", f"user={os.geteuid()}", "format=account")
    found = tuple(dict.fromkeys(line.strip() for line in ran.out.splitlines() if line.strip()))
    return Answer(yes=ran.exit == 0 and bool(found), where=_WHERE, words=found if ran.exit == 0 else ())


def _ask(*words: str) -> Ran:
    try:
        return queue.ask(Real(), words)
    except Refused as refused:
        return Ran(127, "", refused.diagnostics[0].message)
