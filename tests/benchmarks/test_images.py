"""What `make bench-images` writes; the figures themselves are no tests."""

from benchmarks.conversion import Made, median
from benchmarks.images import ENROOT, OURS, limits, report

FAST = Made(OURS, wall=8, cpu=9, peak=200, written=900, size=400, unpack=2, unpack_cpu=3, cold=3, start=2)
SLOW = Made(ENROOT, wall=25, cpu=40, peak=1200, written=2600, size=1000, unpack=5, unpack_cpu=6, cold=9, start=9)


def test_what_is_promised_beside_enroot() -> None:
    rows = list(limits(0.5, [FAST, SLOW]))
    text = list(report(rows, [FAST, SLOW]))
    assert [line for line in text if "MISSED" in line] == [
        "| time to unpack it, over enroot's | 0.4 × | 0.333333 × | MISSED |"
    ]
    assert f"| {OURS} | 8.0 | 9.0 | 200 | 900 | 400 | 2.0 | 3.0 | 3.0 | 2.0 |" in text


def test_without_enroot_nothing_is_promised_beside_it() -> None:
    rows = list(limits(0.5, [FAST]))
    assert not [what for what, *_ in rows if "enroot" in what]
    assert list(report(rows, [FAST]))[-1] == "enroot was not on PATH."


def test_each_figure_is_a_median_of_its_own() -> None:
    other = Made(OURS, wall=6, cpu=9, peak=100, written=900, size=400, unpack=4, unpack_cpu=3, cold=4, start=1)
    third = Made(OURS, wall=7, cpu=8, peak=300, written=800, size=400, unpack=3, unpack_cpu=5, cold=5, start=3)
    assert median([FAST, other, third]) == Made(OURS, 7, 9, 200, 900, 400, 3, 3, 4, 2)
