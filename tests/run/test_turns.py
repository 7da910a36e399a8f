"""Whose turn it is to start, and when a run has done what it was for."""

from launcher.run.script import Child
from launcher.run.turns import Turns

CHILDREN = (
    Child("router", "router", ("r",), after=("worker",)),
    Child("worker", "worker", ("w",)),
    Child("one", "benchmark", ("b",), after=("router", "worker"), benchmark=True),
    Child("two", "benchmark", ("b",), benchmark=True),
)


def free(turns: Turns) -> list[str]:
    return [child.name for child in turns.free()]


def start(turns: Turns, name: str) -> None:
    del turns.waiting[name]


def test_from_the_first_start_to_the_end() -> None:
    turns = Turns(CHILDREN)
    assert free(turns) == ["worker"]
    start(turns, "worker")
    assert (free(turns), turns.all_open) == ([], False)
    turns.open.add("worker")
    assert free(turns) == ["router"]
    start(turns, "router")
    turns.open.add("router")
    assert (turns.all_open, free(turns), turns.waiting) == (True, [], {})
    assert turns.ready()
    assert free(turns) == ["one", "two"]
    start(turns, "one")
    start(turns, "two")
    turns.open.add("two")
    assert not turns.finished
    turns.open.add("one")
    assert turns.finished


def test_without_a_benchmark_a_run_is_never_finished() -> None:
    turns = Turns(CHILDREN[:2])
    turns.open |= {"router", "worker"}
    assert turns.all_open and not turns.ready() and not turns.finished


def test_no_children_are_all_open() -> None:
    assert Turns(()).all_open
