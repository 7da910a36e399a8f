"""What `make bench-slurm` writes; the figures themselves are no tests."""

from benchmarks.slurm import report


def test_a_missed_promise_is_said() -> None:
    text = list(report([("one", 0.4, 0.5, "s"), ("two", 1.6, 1.5, "×")], ["- detail"]))
    assert [line for line in text if "| one |" in line] == ["| one | 0.4 s | 0.5 s | met |"]
    assert [line for line in text if "MISSED" in line] == ["| two | 1.6 × | 1.5 × | MISSED |"]
    assert text[-1] == "- detail"
