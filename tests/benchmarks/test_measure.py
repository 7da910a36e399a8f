"""Figures are only worth something if the measuring can fail."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.measure import Cost, cost, medians
from benchmarks.peers import HUNDRED
from benchmarks.run import Many, hundred, limits, printed, promises

ROOT = Path(__file__).parents[2]
BUSY = "import time\nwhile time.process_time() < 0.2: pass"


def test_cost_counts_the_cpu_of_the_command() -> None:
    assert cost([sys.executable, "-c", BUSY]).cpu >= 0.2


def test_cost_counts_memory_in_megabytes() -> None:
    # In a process of its own: what this one has grown to counts too.
    words = [sys.executable, "-c", "x = b'x' * 200_000_000"]
    asked = f"from benchmarks.measure import cost; print(cost({words!r}).peak)"
    said = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, cwd=ROOT)
    assert 190 < float(said.stdout) < 300


def test_a_failing_command_has_no_cost() -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        cost([sys.executable, "-c", "raise SystemExit(3)"])


def test_medians_keep_the_order_of_the_commands() -> None:
    assert list(medians({"b": [sys.executable, "-c", ""], "a": [sys.executable, "-c", ""]}, 1)) == ["b", "a"]


FINE = {"launch --help": Cost(0.02, 0, 0), "launch check": Cost(0.14, 0, 30), "one pydantic model": Cost(0.1, 0, 0)}
LINEAR = {625: 0.1, 2500: 0.4, 5000: 0.8}
MANY: dict[str, Many] = {"launch": ({"check": 0.0029, "all": 0.005}, 40), "peer": ({"all": 0.002}, 30)}

QUICK = {"vllm 1": 1.9}


@pytest.mark.parametrize(
    ("name", "costs", "plans", "many", "flags"),
    [
        ("launch --help", {"launch --help": Cost(0.06, 0, 0)}, {}, MANY, QUICK),
        ("over one pydantic model", {"launch check": Cost(0.151, 0, 0)}, {}, MANY, QUICK),
        ("peak memory", {"launch check": Cost(0.1, 0, 41)}, {}, MANY, QUICK),
        ("of a hundred", {}, {}, {"launch": ({"check": 0.0031}, 40)}, QUICK),
        ("2,500 nodes", {}, {625: 0.3, 2500: 1.1, 5000: 2.2}, MANY, QUICK),
        ("growth", {}, {5000: 1.7}, MANY, QUICK),
        ("vllm 1", {}, {}, MANY, {"vllm 1": 2.1}),
    ],
)
def test_a_missed_promise_is_said(
    name: str, costs: dict[str, Cost], plans: dict[int, float], many: dict[str, Many], flags: dict[str, float]
) -> None:
    assert [row for row in promises(limits(FINE, LINEAR, MANY, QUICK)) if "MISSED" in row] == []
    missed = [row for row in promises(limits({**FINE, **costs}, {**LINEAR, **plans}, many, flags)) if "MISSED" in row]
    assert len(missed) == 1
    assert name in missed[0]


def test_table_of_a_hundred() -> None:
    assert list(hundred(MANY))[2:] == ["| `launch` | 2.90 | 5.00 | 40 |", "| `peer` | – | 2.00 | 30 |"]


@pytest.mark.parametrize("text", ["1", "import sys; sys.exit(1)"])
def test_figures_of_a_program_that_says_none(text: str) -> None:
    with pytest.raises((ValueError, subprocess.CalledProcessError)):
        printed([sys.executable, "-c", text])


def test_median_of_what_a_program_prints() -> None:
    assert printed([sys.executable, "-c", "print('{\"all\": 0.5}')"]) == {"all": 0.5}


def test_a_hundred_recipes_are_checked_and_rendered() -> None:
    found = printed([sys.executable, str(HUNDRED / "launch_recipes.py")], rounds=1)
    assert 0 < found["check"] < found["all"] < 1


def test_flags_of_a_role_cost_milliseconds() -> None:
    found = printed([sys.executable, "-m", "benchmarks.flag_cost"], rounds=1)
    assert len(found) == 2
    assert all(0 < each < 20 for each in found.values())
