"""Time limits of jobs: what Slurm and people both read in one way."""

import re

PATTERN = (
    r"(?=.*[1-9])(?:"
    r"(?=[0-9])(?:[0-9]{1,4}d)?(?:[0-9]{1,5}h)?(?:[0-9]{1,6}m)?(?:[0-9]{1,8}s)?(?<=[dhms])"
    r"|(?:[0-9]{1,4}-)?[0-9]{1,4}:[0-5][0-9]:[0-5][0-9]"
    r"|[0-9]{1,4}-[0-9]{1,2}(?::[0-5][0-9])?)"
)
"""A whole limit that is more than none."""

FORMS = "`90m`, `4h`, `1h30m`, `2d`, `04:00:00` or `2-00:00:00`"
"""What the pattern takes, for messages."""

_LIMIT = PATTERN
_UNIT = r"([0-9]+)([dhms])"
_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_WORD = r"(?i)\s*([0-9]+)\s*([a-z]+)\s*,?"


def seconds(text: str) -> int:
    """Seconds in `text`. Raises ValueError with a phrase ("must be …") for anything but `FORMS`.

    Numbers alone and `90:00` are refused: Slurm reads minutes there, and people hours or seconds.
    """
    if not re.fullmatch(_LIMIT, text):
        raise ValueError(f"must be a time limit, not `{text}`")
    if text[-1] in _UNITS:
        return sum(int(number) * _UNITS[unit] for number, unit in re.findall(_UNIT, text))
    days, found, clock = text.rpartition("-")
    parts = [int(part) for part in clock.split(":")]
    hours, minutes, rest = (*parts, 0, 0)[:3]
    return (int(days) if found else 0) * 86400 + hours * 3600 + minutes * 60 + rest


def meant(text: str) -> str | None:
    """The limit that `text` was probably meant to be, as `seconds` reads it, or None."""
    if text.isdecimal() and text.isascii():
        return f"{text}m" if int(text) else None
    words = list(re.finditer(_WORD, text))
    if not words or "".join(word[0] for word in words) != text:
        return None
    found = "".join(f"{word[1]}{word[2][0].lower()}" for word in words)
    return found if re.fullmatch(_LIMIT, found) else None


def spelt(limit: int) -> str:
    """`limit` seconds as Slurm's `--time` takes them: `D-HH:MM:SS`, without days `HH:MM:SS`."""
    days, rest = divmod(limit, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, last = divmod(rest, 60)
    return (f"{days}-" if days else "") + f"{hours:02}:{minutes:02}:{last:02}"
