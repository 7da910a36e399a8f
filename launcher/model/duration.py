"""Durations as people write them."""

import re

PATTERN = (
    r"(?=.*[1-9])(?:[0-9]{1,9}"
    r"|(?=[0-9])(?:[0-9]{1,5}d)?(?:[0-9]{1,7}h)?(?:[0-9]{1,7}m)?(?:[0-9]{1,9}s)?"
    r"|(?:[0-9]{1,5}-)?[0-9]{1,4}:[0-5][0-9]:[0-5][0-9])"
)
"""A whole duration that is more than none; the same text stands in the JSON Schema."""

FORMS = "`90s`, `45m`, `1h30m`, `2d`, `01:30:00`, `2-00:00:00` or seconds"
"""What the pattern takes, for messages."""

LONGEST = 999_999_999
"""Seconds that a plain number may be at most."""

_DURATION = PATTERN
_UNIT = "([0-9]+)([dhms])"
_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def seconds(value: str | int) -> float:
    """Seconds in `value`: one of `FORMS`, more than none. Raises ValueError with a phrase ("must be …")."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 < value <= LONGEST:
            raise ValueError(f"must be from 1 to {LONGEST} seconds, not {value}")
        return float(value)
    if not isinstance(value, str) or not re.fullmatch(_DURATION, value):
        raise ValueError(f"must be a duration, not `{value}`")
    if value.isdecimal():
        return float(value)
    if ":" in value:
        days, _, clock = value.rpartition("-")
        hours, minutes, rest = map(int, clock.split(":"))
        return float(int(days or 0) * 86400 + hours * 3600 + minutes * 60 + rest)
    return float(sum(int(number) * _UNITS[unit] for number, unit in re.findall(_UNIT, value)))
