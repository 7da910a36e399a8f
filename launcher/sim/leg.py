"""The part one worker plays for one request: all of it, the prompt, or the text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from launcher.sim.ask import Ask
from launcher.sim.message import Request, Response

Part = Literal["aggregate", "prefill", "decode"]


@dataclass(frozen=True)
class Leg:
    """`recomputed`: a hand-over was due and did not happen; `source`: the worker that computed the prompt."""

    part: Part = "aggregate"
    recomputed: bool = False
    source: str | None = None

    @property
    def mark(self) -> str:
        """What follows the worker's name where it says how the prompt got there."""
        return ":recomputed" if self.recomputed else ":handed-over" if self.source is not None else ""


@dataclass(frozen=True)
class Listener:
    """Another port this worker must listen on, and what answers there."""

    host: str
    port: int
    answer: Callable[[Request], Response]


class Handoff(Protocol):
    """How one engine hands a prompt from a prefill worker to a decode worker."""

    def listeners(self) -> tuple[Listener, ...]:
        """Ports this worker must open for others."""

    def begin(self, ask: Ask) -> Leg:
        """Fetch what there is to fetch. Raises Problem where the engine would fail."""

    def end(self, leg: Leg, ask: Ask, key: str, rank: int) -> Mapping[str, Any] | None:
        """After the first token of a prefill leg: keep the prompt for the other worker; what the answer must say."""


class Alone:
    """No hand-over: every worker does all of it."""

    def listeners(self) -> tuple[Listener, ...]:
        """None."""
        return ()

    def begin(self, ask: Ask) -> Leg:
        """Always the whole."""
        return Leg()

    def end(self, leg: Leg, ask: Ask, key: str, rank: int) -> Mapping[str, Any] | None:
        """Nothing to say."""
        return None
