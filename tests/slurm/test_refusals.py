"""Slurm's words for refusing a job, translated; and whether a job may have been accepted all the same."""

from collections.abc import Sequence

import pytest

from launcher.execute.slurm import queue, refusal
from launcher.execute.world import Ran, Real
from launcher.text.diagnostic import Refused


@pytest.mark.parametrize(
    ("said", "message", "help_"),
    [
        (
            (
                "sbatch: error: invalid partition specified: nosuch\n"
                "sbatch: error: Batch job submission failed: Invalid partition name specified\n"
            ),
            "Slurm: Invalid partition name specified",
            "`sinfo` lists the partitions",
        ),
        (
            "allocation failure: Requested node configuration is not available\n",
            "Slurm: Requested node configuration is not available",
            "no node of the partition has",
        ),
        (
            "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified\n",
            "Slurm: Invalid account or account/partition combination specified",
            "`sacctmgr show assoc",
        ),
        (
            "sbatch: error: Batch job submission failed: Invalid generic resource (gres) specification\n",
            "Slurm: Invalid generic resource (gres) specification",
            "`sinfo -o '%P %G'`",
        ),
        (
            "sbatch: unrecognized option '--segment=4'\n",
            "Slurm: unrecognized option '--segment=4'",
            "this Slurm does not",
        ),
        (
            "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)\n",
            "Slurm: Unable to contact slurm controller (connect failure)",
            "slurmctld does not answer",
        ),
        (
            (
                "sbatch: error: QOSMaxNodePerUserLimit\n"
                "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy "
                "(job submit limit, user's size and/or time limits)\n"
            ),
            "Slurm: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
            "a limit of your account",
        ),
        ("", "Slurm: no reason was given", None),
        ("sbatch: error: something new\n", "Slurm: something new", None),
    ],
)
def test_refusals_are_translated(said: str, message: str, help_: str | None) -> None:
    (found,) = refusal.refused(said).diagnostics
    assert found.message == message
    assert found.exit == 5
    assert found.help is None if help_ is None else (found.help or "").startswith(help_)


@pytest.mark.parametrize(
    ("said", "open_"),
    [
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", True),
        ("sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received", True),
        ("sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)", True),
        ("sbatch: error: Batch job submission failed: Invalid partition name specified", False),
        ("sbatch: error: Batch job submission failed: Job violates accounting/QOS policy", False),
    ],
)
def test_some_failures_leave_it_open(said: str, open_: bool) -> None:
    assert refusal.unsure(said) is open_


class Hanging(Real):
    def run(self, words: Sequence[str], *_: object, **__: object) -> Ran:
        raise TimeoutError(words[0])


def test_a_queue_that_hangs_is_one_that_does_not_answer() -> None:
    assert queue.mine(Hanging()) is None


def test_a_program_that_does_not_end_is_no_program_that_is_absent() -> None:
    with pytest.raises(Refused) as raised:
        queue.ask(Hanging(), ("scancel", "7"), 3)
    (found,) = raised.value.diagnostics
    assert (found.message, found.help) == (
        "`scancel` did not answer within 3 s",
        "slurmctld does not answer: `scontrol ping`",
    )


def test_a_program_that_is_not_there() -> None:
    (found,) = refusal.absent("sbatch", "no such file or directory").diagnostics
    assert found.message == "`sbatch` cannot be run: no such file or directory"
    assert (found.code, found.exit) == ("slurm-absent", 5)
