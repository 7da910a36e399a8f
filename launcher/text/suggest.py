"""What somebody meant who wrote a word that is none of those that are known."""

import re
from collections.abc import Iterable

FINDINGS = 20
"""Suggestions that one round of checks makes; further findings come without one."""

JOINT = r"[-_. ]+"


class Suggestions:
    """`nearest` with a budget: after `limit` words that were asked for, there are no more suggestions.

    A generator of findings makes one for itself and asks it instead of `nearest`, so that a file with a
    thousand wrong words is answered as fast as one with twenty.
    """

    def __init__(self, limit: int = FINDINGS) -> None:
        self._left = limit

    def nearest(self, word: str, candidates: Iterable[str]) -> str | None:
        """As the function `nearest`; None once the budget is spent."""
        self._left -= 1
        return nearest(word, candidates) if self._left >= 0 else None


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `word` most probably stands for, or None if none is near or `word` is known.

    Case, dashes, underscores and dots do not count. Near is: the same letters; one, two or three slips of the
    finger (a letter more, less, other, or two swapped) in words of 3, 8, 12 or more letters, as long as each part
    of the name is near too or cut short (`lenght`, `len`); letters left out, as many as the longer word may have
    slips (`partion`); the same parts in another order; the first two or more parts of a longer name. Of equally
    near ones the one with most letters in common, then the shortest, then the first by alphabet; the order of
    candidates does not matter.
    """
    known = set(candidates)
    if word in known:
        return None
    return _by_letters(word, known) or _by_parts(_parts(word), known)


def _by_letters(word: str, known: Iterable[str]) -> str | None:
    bare = _bare(word)
    limit = _limit(len(bare))
    letters = set(bare)
    best: tuple[int, int, int, str] | None = None
    for candidate in known:
        other = _bare(candidate)
        strange = len(letters ^ set(other))
        missing = len(other) - len(bare)
        # As many slips as letters that are missing are those letters.
        most = missing if limit < missing <= _limit(len(other)) and limit else limit
        if best is not None:
            most = min(most, best[0])
        # One slip changes the length by one and the set of letters by two at most.
        if abs(missing) > most or strange > 2 * most:
            continue
        slips = distance(bare, other, most)
        rank = (slips, strange, len(candidate), candidate)
        if slips <= most and (best is None or rank < best) and _alike(word, candidate):
            best = rank
    return best[3] if best else None


def _alike(word: str, candidate: str) -> bool:
    """Whether each part is near the other's, where there are as many; `retries` is not near `metrics`."""
    pairs = list(zip(_parts(word), _parts(candidate), strict=False))
    if len(_parts(word)) != len(_parts(candidate)) or len(pairs) < 2:
        return True
    return all(
        distance(one, other, 2) <= max(1, _limit(len(one))) or one.startswith(other) or other.startswith(one)
        for one, other in pairs
    )


def _by_parts(parts: list[str], known: Iterable[str]) -> str | None:
    if len(parts) < 2:
        return None
    near = []
    for candidate in known:
        others = _parts(candidate)
        if others[: len(parts)] == parts or sorted(others) == sorted(parts):
            near.append((len(candidate), candidate))
    return min(near)[1] if near else None


def distance(one: str, other: str, limit: int) -> int:
    """Slips between two words (Damerau-Levenshtein, no letter touched twice); `limit` + 1 if more."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for index, letter in enumerate(one):
        above, before, row = before, row, [index + 1]
        for at, against in enumerate(other):
            step = min(before[at] + (letter != against), before[at + 1] + 1, row[at] + 1)
            if index and at and letter == other[at - 1] and one[index - 1] == against:
                step = min(step, above[at - 1] + 1)
            row.append(step)
        if min(row) > limit and min(before) > limit:
            return limit + 1
    return min(row[-1], limit + 1)


def _bare(word: str) -> str:
    return re.sub(JOINT, "", word.casefold())


def _parts(word: str) -> list[str]:
    return [part for part in re.split(JOINT, word.casefold()) if part]


def _limit(length: int) -> int:
    if length < 3:
        return 0
    return 1 if length < 8 else 2 if length < 12 else 3
