"""Figures are only worth something if the measuring can fail."""

import sys

import pytest

from benchmarks.measure import Cost, cost, medians
from benchmarks.run import limits, promises

BUSY = "import time\nwhile time.process_time() < 0.2: pass"


def test_cost_counts_the_cpu_of_the_command() -> None:
    assert cost([sys.executable, "-c", BUSY]).cpu >= 0.2


def test_cost_counts_memory_in_megabytes() -> None:
    grown = cost([sys.executable, "-c", "x = b'x' * 200_000_000"]).peak
    assert 190 < grown < 300


def test_a_failing_command_has_no_cost() -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        cost([sys.executable, "-c", "raise SystemExit(3)"])


def test_medians_keep_the_order_of_the_commands() -> None:
    assert list(medians({"b": [sys.executable, "-c", ""], "a": [sys.executable, "-c", ""]}, 1)) == ["b", "a"]


@pytest.mark.parametrize(
    ("name", "costs", "plans"),
    [
        ("launch --help", {"launch --help": Cost(0.06, 0, 0)}, {}),
        ("over one pydantic model", {"launch check": Cost(0.151, 0, 0)}, {}),
        ("peak memory", {"launch check": Cost(0.1, 0, 41)}, {}),
        ("2,500 nodes", {}, {625: 0.3, 2500: 1.1, 5000: 2.2}),
        ("growth", {}, {5000: 1.7}),
    ],
)
def test_a_missed_promise_is_said(name: str, costs: dict[str, Cost], plans: dict[int, float]) -> None:
    fine = {"launch --help": Cost(0.02, 0, 0), "launch check": Cost(0.14, 0, 30), "one pydantic model": Cost(0.1, 0, 0)}
    linear = {625: 0.1, 2500: 0.4, 5000: 0.8}
    assert [row for row in promises(limits(fine, linear)) if "MISSED" in row] == []
    missed = [row for row in promises(limits({**fine, **costs}, {**linear, **plans})) if "MISSED" in row]
    assert len(missed) == 1
    assert name in missed[0]
