"""Asking gates again and again in a thread, until they are open or nobody wants to know."""

import threading
from typing import Callable, NamedTuple, Sequence, Union

from launcher.run.gate import probe
from launcher.run.rescue import Rescue
from launcher.run.script import Gate


class Opened(NamedTuple):
    """Every gate of `step` has been open; `gates` is how many there were."""

    step: str
    gates: int


class Shut(NamedTuple):
    """A gate of `step` is shut, and what it said; told when the answer changes."""

    step: str
    gate: Gate
    said: str


class Lost(NamedTuple):
    """Asking for `step` itself failed: a fault of the launcher."""

    step: str
    cause: str


News = Union[Opened, Shut, Lost]


def ask(step: str, gates: Sequence[Gate], halt: threading.Event, tell: Callable[[News], None]) -> None:
    """Starts asking the gates one after the other, each until it is open; `tell` is called from the thread."""

    def run() -> None:
        rescue = Rescue()
        with rescue:
            if all(_until_open(step, gate, halt, tell) for gate in gates):
                tell(Opened(step, len(gates)))
        if rescue.cause:
            tell(Lost(step, rescue.cause))

    threading.Thread(target=run, name="gates of " + step, daemon=True).start()


def _until_open(step: str, gate: Gate, halt: threading.Event, tell: Callable[[News], None]) -> bool:
    said = None
    while not halt.is_set():
        answer = probe(gate)
        if answer.open:
            return True
        if answer.said != said:
            said = answer.said
            tell(Shut(step, gate, said))
        halt.wait(gate.every)
    return False
