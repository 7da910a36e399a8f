"""Of a step with several tasks, the one that ended first is named, as `srun` tells it."""

from pathlib import Path

import pytest

from launcher.run import blame
from launcher.run.child import start
from launcher.run.script import Child, Script
from launcher.run.words import OWNERS, UNFINISHED


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("srun: error: node1: task 3: Exited with exit code 7\nsrun: error: node1: task 0: Terminated\n", "3"),
        ("srun: cluster configuration lacks support\nsrun: error: node2: tasks 4-7: Killed\n", "4"),
        ("srun: error: Unable to create step for job 7: Requested nodes are busy\n", None),
        ("", None),
    ],
)
def test_the_task_is_read(said: str, number: str | None) -> None:
    assert blame.task(said) == number


def told(tmp_path: Path, said: str, *written: str) -> dict[str, object]:
    """What is told of a step whose `srun` said this, and whose tasks wrote that."""
    outputs = tuple(f"logs/ranks.{number}.log" for number in range(len(written)))
    child = Child("ranks", "worker", ("sh", "-c", "exit 7"), cwd=str(tmp_path), outputs=outputs)
    running = start(child, Script("x", (), (child,)), str(tmp_path))
    (tmp_path / "logs/ranks.log").write_text(said)
    for output, text in zip(outputs, written, strict=True):
        (tmp_path / output).write_text(text)
    running.ended(running._process.wait() << 8)
    found = blame.ended(running, "ready", {"exit": 7}, str(tmp_path)).first
    assert found is not None
    return found


def test_its_log_and_lines_are_told(tmp_path: Path) -> None:
    line = "srun: error: node1: task 1: Exited with exit code 7"
    said = f"srun: cluster configuration lacks support for cpu binding\n{line}\n"
    found = told(tmp_path, said, "ValueError: an effect\n", "RuntimeError: the cause\nmore\n")
    assert found["log"] == "logs/ranks.1.log"
    assert found["first_error"] == "RuntimeError: the cause"
    assert found["last_lines"] == ["RuntimeError: the cause", "more", line]


@pytest.mark.parametrize("owner", OWNERS)
def test_whose_preamble_it_was_is_told_though_srun_says_much(tmp_path: Path, owner: str) -> None:
    said = "".join(f"srun: error: node1: task {number}: Exited with exit code 7\n" for number in range(40))
    assert told(tmp_path, said, f"{UNFINISHED % owner}\n", "")["setup"] == owner
    assert told(tmp_path, said, "serving\n", f"{UNFINISHED % owner}\n")["setup"] is None


def test_where_no_task_wrote_anything_srun_is_told(tmp_path: Path) -> None:
    found = told(tmp_path, "srun: error: Unable to create step for job 7: Invalid generic resource\n", "", "")
    assert found["log"] == "logs/ranks.log"
    assert found["first_error"] == "srun: error: Unable to create step for job 7: Invalid generic resource"


def test_the_task_that_ended_first_counts_though_others_complain(tmp_path: Path) -> None:
    said = "srun: error: node2: task 1: Killed\nsrun: error: node1: task 0: Exited with exit code 9\n"
    found = told(tmp_path, said, "ConnectionError: lost a peer\n", "serving\n")
    assert found["log"] == "logs/ranks.1.log"
    assert found["last_lines"] == ["serving", *said.splitlines()]
