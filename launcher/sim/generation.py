"""One accepted request, token by token, in its own time, counted as it goes."""

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from launcher.sim.ask import Ask
from launcher.sim.blocks import Cache
from launcher.sim.faults import Wait
from launcher.sim.leg import Leg
from launcher.sim.metrics import Book
from launcher.sim.text import Reply, reply
from launcher.sim.wire import Piece


@dataclass(frozen=True)
class Pace:
    """Seconds before the first token and between tokens."""

    first: float
    next: float


@contextmanager
def working(book: Book, rank: int) -> Iterator[None]:
    """While it lasts a request is in work on `rank`."""
    book.started(rank)
    try:
        yield
    finally:
        book.ended(rank)


class Generation:
    """The answers to one request. A prompt that was fetched costs no first-token latency."""

    def __init__(self, ask: Ask, leg: Leg, rank: int, book: Book, cache: Cache | None = None) -> None:
        limits = replace(ask.limits, most=1, least=0) if leg.part == "prefill" else ask.limits
        self.replies: Sequence[Reply] = [reply(prompt, limits) for prompt in ask.prompts for _ in range(ask.count)]
        self._ask = ask
        self._leg = leg
        self._rank = rank
        self._book = book
        self._cache = cache
        self._begun = time.monotonic()

    @property
    def generated(self) -> int:
        """Tokens of all answers."""
        return sum(len(one.pieces) for one in self.replies)

    def steps(self, pace: Pace, wait: Wait) -> Generator[list[Piece], None, None]:
        """The tokens, one of each answer at a time. Ended early it counts as aborted."""
        ended = False
        texts = [""] * len(self.replies)
        try:
            with working(self._book, self._rank):
                for step in range(max(len(one.pieces) for one in self.replies)):
                    self._pause(step, pace, wait)
                    yield list(self._pieces(step, texts))
            ended = True
        finally:
            self._count(ended)

    def _pause(self, step: int, pace: Pace, wait: Wait) -> None:
        prompt_here = self._leg.source is None
        seconds = pace.first if step == 0 and prompt_here else pace.next
        if seconds:
            wait(seconds)
        if step == 0:
            self._book.first(self._rank, time.monotonic() - self._begun, self._ask.stream)
            self._keep([() for _ in self.replies])

    def _pieces(self, step: int, texts: list[str]) -> Iterator[Piece]:
        for index, one in enumerate(self.replies):
            if step < len(one.pieces):
                texts[index] += one.pieces[step]
                reason = one.reason if step == len(one.pieces) - 1 else None
                yield Piece(index, one.pieces[step], reason, texts[index], step + 1)

    def _count(self, ended: bool) -> None:
        seconds = time.monotonic() - self._begun
        reason = self.replies[0].reason if ended else "abort"
        self._book.done(self._rank, reason, seconds, self._ask.stream)
        if ended:
            # Nothing was computed from the last token.
            self._keep([tuple(piece.strip() for piece in one.pieces[:-1]) for one in self.replies])
            self._book.tokens(self._rank, self._ask.prompt_tokens, self.generated, self._ask.stream)

    def _keep(self, written: Sequence[tuple[str, ...]]) -> None:
        """The cache has every prompt, and what was written after it."""
        if self._cache is None:
            return
        for index, words in enumerate(written):
            self._cache.store(self._rank, (*self._ask.prompts[index // self._ask.count], *words))
