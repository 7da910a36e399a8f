"""Lines for people, and who hears them."""

from collections.abc import Callable

Told = Callable[[str], None]
"""What hears a line."""


def unheard(line: str) -> None:
    """Nobody hears it."""
