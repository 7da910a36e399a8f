"""What the simulated model says: the prompt's own words again, so that every answer can be foretold."""

from collections.abc import Sequence
from dataclasses import dataclass

from launcher.sim import NAME

MAX_MODEL_LEN = 32768
"""Tokens of prompt and answer together, as `/v1/models` says."""


@dataclass(frozen=True)
class Limits:
    """How long an answer may be, in tokens (words). `most` None: until the model is done."""

    most: int | None = None
    least: int = 0
    ignore_end: bool = False
    stop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reply:
    """An answer as the pieces it is streamed in (one a token) and why it ended: `stop` or `length`."""

    pieces: tuple[str, ...]
    reason: str

    @property
    def text(self) -> str:
        """The whole answer."""
        return "".join(self.pieces)


def words(text: str) -> tuple[str, ...]:
    """The tokens of `text`: what white space parts."""
    return tuple(text.split())


def reply(prompt: Sequence[str], limits: Limits) -> Reply:
    """The answer to `prompt`: its words once; over and over where `limits` want more, cut where they allow fewer."""
    source = prompt or (NAME,)
    total = len(source)
    if limits.ignore_end and limits.most is not None:
        total = limits.most
    total = max(total, limits.least)
    if limits.most is not None:
        total = min(total, limits.most)
    reason = "length" if limits.most is not None and total == limits.most else "stop"
    pieces = [("" if index == 0 else " ") + source[index % len(source)] for index in range(total)]
    return _stopped(pieces, limits.stop) or Reply(tuple(pieces), reason)


def _stopped(pieces: Sequence[str], stop: Sequence[str]) -> Reply | None:
    """The reply cut in front of the first stop string, or None where none occurs."""
    whole = "".join(pieces)
    ends = [(found, word) for word in stop if word and (found := whole.find(word)) >= 0]
    if not ends:
        return None
    end, word = min(ends)
    kept: list[str] = []
    done = 0
    for piece in pieces:
        kept.append(piece[: max(0, end - done)])
        done += len(piece)
        if done >= end + len(word):
            break
    return Reply(tuple(kept), "stop")
