"""The KV cache of one rank as others are told of it: full blocks of tokens, each known by all that came before it."""

import re
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

BLOCK = 16
"""Tokens in one block of the KV cache."""
CAPACITY = 4096
"""Blocks that a rank keeps; those that were longest not used go first."""
_NAMED = re.compile("t([0-9]{1,9})")


@dataclass(frozen=True)
class Stored:
    """Blocks one after another that are kept from now on; `parent` is the one before them."""

    hashes: tuple[int, ...]
    parent: int | None
    tokens: tuple[int, ...]


@dataclass(frozen=True)
class Removed:
    """Blocks that are kept no more."""

    hashes: tuple[int, ...]


@dataclass(frozen=True)
class Cleared:
    """No block is kept any more."""


Event = Stored | Removed | Cleared


def token(word: str) -> int:
    """The id of a word: the one it is named after (`t5`), else one made of its letters."""
    named = _NAMED.fullmatch(word)
    return int(named[1]) if named else zlib.crc32(word.encode("utf-8", "replace")) & 0x7FFFFFFF


class Blocks:
    """The blocks of one rank."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._kept: OrderedDict[int, None] = OrderedDict()

    def store(self, words: Sequence[str]) -> list[Event]:
        """Keep the full blocks of a text; what became of the cache by that."""
        chain = list(_chain([token(word) for word in words]))
        events: list[Event] = list(self._new(chain))
        # The first block of a text is the last to go.
        for each in reversed(chain):
            self._kept[each.hashes[0]] = None
            self._kept.move_to_end(each.hashes[0])
        gone = [self._kept.popitem(last=False)[0] for _ in range(len(self._kept) - self._capacity)]
        return [*events, *([Removed(tuple(gone))] if gone else [])]

    def clear(self) -> list[Event]:
        """Keep nothing any more."""
        self._kept.clear()
        return [Cleared()]

    def _new(self, chain: Sequence[Stored]) -> Iterator[Stored]:
        """What of the chain was not kept yet, neighbours together."""
        run: Stored | None = None
        for each in chain:
            if each.hashes[0] in self._kept:
                if run is not None:
                    yield run
                run = None
            elif run is None:
                run = each
            else:
                run = Stored(run.hashes + each.hashes, run.parent, run.tokens + each.tokens)
        if run is not None:
            yield run


def _chain(tokens: Sequence[int]) -> Iterator[Stored]:
    """The full blocks of a text, each by itself."""
    parent: int | None = None
    for start in range(0, len(tokens) - BLOCK + 1, BLOCK):
        own = tuple(tokens[start : start + BLOCK])
        found = _hash((parent or 0, *own))
        yield Stored((found,), parent, own)
        parent = found


class Cache:
    """The caches of a worker's ranks. `tell` is given a rank and what became of its cache, in order."""

    def __init__(self, ranks: Sequence[int], tell: Callable[[int, Sequence[Event]], None]) -> None:
        self._blocks = {rank: Blocks() for rank in ranks}
        self._tell = tell
        self._lock = threading.Lock()

    def store(self, rank: int, words: Sequence[str]) -> None:
        """A rank keeps a text."""
        with self._lock:
            self._tell(rank, self._blocks[rank].store(words))

    def clear(self) -> None:
        """No rank keeps anything any more."""
        with self._lock:
            for rank, blocks in self._blocks.items():
                self._tell(rank, blocks.clear())


def _hash(numbers: Sequence[int]) -> int:
    """64 bits made of numbers, by Fowler, Noll and Vo; the same in every process."""
    found = 0xCBF29CE484222325
    for number in numbers:
        found = ((found ^ number) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
        found ^= found >> 29
    return found
