"""Time limits: what is read, what was probably meant, and how Slurm is told."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.model.timelimit import PATTERN, meant, seconds, spelt

GOOD = [
    ("90m", 5400),
    ("4h", 14400),
    ("1h30m", 5400),
    ("2d", 172800),
    ("45s", 45),
    ("04:00:00", 14400),
    ("100:00:00", 360000),
    ("2-00:00:00", 172800),
    ("1-12", 129600),
    ("1-00:30", 88200),
]
BAD = [
    ("4hours", "4h"),
    ("4 hours", "4h"),
    ("2 days, 3 hours", "2d3h"),
    ("90min", "90m"),
    ("60", "60m"),
    ("0", None),
    ("0h", None),
    ("90:00", None),
    ("1.5h", None),
    ("3 h 2 d", None),
    ("UNLIMITED", None),
    ("", None),
    ("1h ", "1h"),
    ("٣h", None),
]


@pytest.mark.parametrize(("text", "expected"), GOOD)
def test_limits(text: str, expected: int) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize(("text", "instead"), BAD)
def test_what_is_no_limit(text: str, instead: str | None) -> None:
    with pytest.raises(ValueError, match=r"^must be a time limit, not `"):
        seconds(text)
    assert meant(text) == instead


@given(st.integers(1, 10**8))
def test_slurm_is_told_the_same(limit: int) -> None:
    assert seconds(spelt(limit)) == limit


@given(st.from_regex(f"^{PATTERN}$", alphabet=st.sampled_from("0123456789dhms:-")))
def test_the_pattern_takes_what_is_read(text: str) -> None:
    if re.fullmatch(PATTERN, text):
        assert seconds(text) > 0
