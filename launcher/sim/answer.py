"""One answer on its way out: whole, or as a stream of events."""

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from launcher.sim.ask import Ask, Problem
from launcher.sim.faults import Wait
from launcher.sim.generation import Generation, Pace
from launcher.sim.leg import Handoff, Leg
from launcher.sim.wire import DONE, Stamp, Wire, event


@dataclass(frozen=True)
class Answer:
    """Everything that goes into one answer. Either `whole` or `stream` is used, once."""

    wire: Wire
    stamp: Stamp
    ask: Ask
    leg: Leg
    generation: Generation
    handoff: Handoff
    rank: int

    def whole(self, pace: Pace, wait: Wait) -> Any:
        """The complete answer. Raises Problem where the hand-over fails, Gone where the client leaves."""
        with closing(self.generation.steps(pace, wait)) as steps:
            for _ in steps:
                pass
        transfer = self.handoff.end(self.leg, self.ask, self.stamp.id, self.rank)
        return self.wire.whole(self.stamp, self.ask, self.generation.replies, transfer)

    def stream(self, pace: Pace, wait: Wait) -> Generator[bytes, None, None]:
        """Server-sent events up to `[DONE]`; a hand-over that fails by then is an event too."""
        for index in range(len(self.generation.replies)):
            opening = self.wire.opening(self.stamp, self.ask, index)
            if opening is not None:
                yield event(opening)
        with closing(self.generation.steps(pace, wait)) as steps:
            for pieces in steps:
                for piece in pieces:
                    yield event(self.wire.chunk(self.stamp, self.ask, piece))
        try:
            self.handoff.end(self.leg, self.ask, self.stamp.id, self.rank)
        except Problem as problem:
            yield event({"error": {"message": str(problem), "type": problem.kind, "code": problem.status}})
        last = self.wire.closing(self.stamp, self.ask, self.generation.generated)
        if last is not None:
            yield event(last)
        yield DONE
