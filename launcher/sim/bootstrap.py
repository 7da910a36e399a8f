"""SGLang's hand-over: `--disaggregation-mode`, a bootstrap server, and `bootstrap_*` in the requests.

Router and clients send both legs the same `bootstrap_host`, `bootstrap_port` and `bootstrap_room`
(SGLang 0.5.23); for a batch each is a list. The decode worker asks the bootstrap server of the prefill.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from launcher.sim.ask import Ask, Problem, whole
from launcher.sim.handoff import Lost, Shelf, Store, fetch, record, within
from launcher.sim.leg import Leg, Listener, Part


@dataclass(frozen=True)
class Room:
    """Where the record of one prompt is to be had."""

    host: str
    port: int
    number: int


class Bootstrap:
    """The hand-over of one SGLang worker, which is `prefill` or `decode`."""

    def __init__(self, part: Part, worker: str, address: tuple[str, int], patience: float) -> None:
        """`address` is where a prefill's bootstrap server listens; `patience` how long one leg waits for the other."""
        self._part = part
        self._worker = worker
        self._address = address
        self._patience = patience
        self._store = Store()

    def listeners(self) -> tuple[Listener, ...]:
        """The bootstrap server of a prefill worker."""
        if self._part != "prefill":
            return ()
        return (Listener(*self._address, Shelf(self._store).answer),)

    def begin(self, ask: Ask) -> Leg:
        """A decode leg waits here for its prompts."""
        if ask.raw.get("bootstrap_room") is None:
            return Leg(self._part, recomputed=self._part == "decode")
        rooms = _rooms(ask)
        if self._part == "prefill":
            return Leg("prefill")
        source = ""
        deadline = within(self._patience)
        try:
            for room, prompt in zip(rooms, ask.prompts, strict=True):
                found = fetch(room.host, room.port, str(room.number), deadline.left)
                if found != record(found.worker, prompt):
                    raise Lost(f"room {room.number} holds another prompt")
                source = found.worker
        except Lost as fault:
            raise Problem(500, f"Decode transfer failed: {fault}", "InternalServerError") from fault
        return Leg("decode", source=source)

    def end(self, leg: Leg, ask: Ask, key: str, rank: int) -> Mapping[str, Any] | None:
        """A prefill leg ends when the decode worker has fetched every room of it."""
        if leg.part != "prefill" or ask.raw.get("bootstrap_room") is None:
            return None
        numbers = [str(room.number) for room in _rooms(ask)]
        for number, prompt in zip(numbers, ask.prompts, strict=True):
            self._store.put(number, record(self._worker, prompt))
        deadline = within(self._patience)
        taken = [self._store.taken(number, deadline.left) for number in numbers]
        if not all(taken):
            raise Problem(500, "Prefill transfer failed: no decode worker fetched the prompt", "InternalServerError")
        return None


def _rooms(ask: Ask) -> list[Room]:
    """One room a prompt. A missing or broken address fails here, as it fails in the engine."""
    columns = [_column(ask, name) for name in ("bootstrap_host", "bootstrap_port", "bootstrap_room")]
    rooms: list[Room] = []
    for host, port, number in zip(*columns, strict=True):
        if not isinstance(host, str) or not whole(port) or not whole(number):
            raise Problem(
                500, f"no hand-over from {host}:{port}, room {number}: an address is missing", "InternalServerError"
            )
        rooms.append(Room(host, port, number))
    return rooms


def _column(ask: Ask, name: str) -> list[Any]:
    value = ask.raw.get(name)
    if not isinstance(value, list):
        return [value] * len(ask.prompts)
    if len(value) != len(ask.prompts):
        raise Problem(400, f"{name}: {len(ask.prompts)} are wanted, one a prompt", param=name)
    return value
