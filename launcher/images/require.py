"""`NVIDIA_REQUIRE_CUDA` of an image, held against the driver of the nodes, as the container runtime's hook does.

Facts: libnvidia-container 1.17 takes words apart at spaces, of which one must hold, and each at commas, all of which
must. `cuda` is the newest CUDA that the driver runs without NVIDIA's compatibility package (NVIDIA's table of drivers
and CUDA 11.0 to 13.1), `driver` its own version, `brand` a line of GPUs, `arch` their compute capability.
"""

import re
from collections.abc import Iterable

from launcher.images.reference import number

_CUDA = (
    *((450, "11.0"), (455, "11.1"), (460, "11.2"), (465, "11.3"), (470, "11.4"), (495, "11.5"), (510, "11.6")),
    *((515, "11.7"), (520, "11.8"), (525, "12.0"), (530, "12.1"), (535, "12.2"), (545, "12.3"), (550, "12.4")),
    *((555, "12.5"), (560, "12.6"), (565, "12.7"), (570, "12.8"), (575, "12.9"), (580, "13.0"), (590, "13.1")),
)
"""Branch of the driver → newest CUDA it runs."""

_CONDITION = re.compile(r"(?P<name>[a-z]+)(?P<sign>>=|<=|!=|=|<|>)(?P<value>[\w.-]+)")


def cuda(driver: str) -> str | None:
    """The newest CUDA that a driver runs; None for one older than the table."""
    branch = number(driver)[:1]
    known = [version for start, version in _CUDA if branch >= (start,)]
    return known[-1] if known else None


def unmet(require: str, driver: str) -> bool:
    """Whether nodes with this driver refuse to start an image that says `require`; unknown conditions hold."""
    words = require.split()
    return bool(words) and not any(_holds(word.split(","), driver) for word in words)


def _holds(conditions: Iterable[str], driver: str) -> bool:
    known = {"driver": number(driver), "cuda": number(cuda(driver) or "")}
    for condition in conditions:
        found = _CONDITION.fullmatch(condition)
        if found is None or not known.get(found["name"]):
            continue
        if not _SIGNS[found["sign"]](*_padded(known[found["name"]], number(found["value"]))):
            return False
    return True


def _padded(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Versions as far as the shorter of them goes: `driver<536` is of the branch alone."""
    length = min(len(one), len(other))
    return one[:length], other[:length]


_SIGNS = {
    ">=": lambda one, other: one >= other,
    "<=": lambda one, other: one <= other,
    "<": lambda one, other: one < other,
    ">": lambda one, other: one > other,
    "=": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
}


def required(env: Iterable[str]) -> str | None:
    """What an image's environment requires, unless it says itself that nobody should look."""
    found = dict(each.partition("=")[::2] for each in env)
    return None if found.get("NVIDIA_DISABLE_REQUIRE") in ("1", "true") else found.get("NVIDIA_REQUIRE_CUDA")
