"""Durations: what is read, and as how many seconds."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.model.duration import LONGEST, PATTERN, seconds

GOOD: list[tuple[str | int, float]] = [
    (1, 1),
    (90, 90),
    (LONGEST, LONGEST),
    ("90", 90),
    ("90s", 90),
    ("45m", 2700),
    ("2h", 7200),
    ("1h30m", 5400),
    ("1d12h", 129600),
    ("1h5s", 3605),
    ("01:30:00", 5400),
    ("100:00:01", 360001),
    ("2-00:00:00", 172800),
    ("0-00:00:01", 1),
]
BAD = [0, -1, LONGEST + 1, "", "0", "0s", "00:00:00", "1.5h", "1 h", "h", "m5", "5m1h", "1:2:3", "45:00", "1h ", "-5m"]
BAD += ["5M", "5min", "forever", "٣s", "1-1:00:00:00", True, False]


@pytest.mark.parametrize(("value", "expected"), GOOD)
def test_durations(value: str | int, expected: float) -> None:
    found = seconds(value)
    assert (found, type(found)) == (expected, float)


@pytest.mark.parametrize("value", BAD)
def test_what_is_no_duration(value: str | int) -> None:
    with pytest.raises(ValueError, match=r"^must be "):
        seconds(value)


@given(st.from_regex(f"^{PATTERN}$", alphabet=st.sampled_from("0123456789dhms:-")))
def test_the_pattern_takes_what_is_read(text: str) -> None:
    if re.fullmatch(PATTERN, text):
        assert seconds(text) > 0


@given(st.tuples(*[st.integers(0, 50)] * 4).filter(any))
def test_units_and_clock_say_the_same(parts: tuple[int, int, int, int]) -> None:
    days, hours, minutes, rest = parts
    units = "".join(f"{number}{unit}" for number, unit in zip(parts, "dhms", strict=True) if number)
    assert (
        seconds(units)
        == seconds(f"{days}-{hours}:{minutes:02}:{rest:02}")
        == ((days * 24 + hours) * 60 + minutes) * 60 + rest
    )
