"""vLLM's hand-over by Mooncake: a bootstrap server before the prefill workers, and a number that both legs are sent.

Fields as vLLM 0.32.0 expects them (`kv_connector/v1/mooncake/`): prefill is told a `transfer_id` and answers nothing,
decode the same one with `remote_bootstrap_addr` and `remote_engine_id`, which the router has learned from `/query`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from launcher.sim.ask import Ask
from launcher.sim.handoff import Record, Shelf, Store, fetch, record
from launcher.sim.leg import Leg, Listener
from launcher.sim.message import Request, Response, document
from launcher.sim.transfer import Transfer, parameters, received


@dataclass(frozen=True)
class Registry:
    """Where a prefill worker's bootstrap server listens, and the ranks it tells of."""

    host: str
    port: int
    ranks: range


class Mooncake:
    """The hand-over of one vLLM worker. `patience` is how long decode waits for the prompt."""

    def __init__(self, transfer: Transfer, worker: str, registry: Registry, patience: float) -> None:
        self._transfer = transfer
        self._worker = worker
        self._registry = registry
        self._patience = patience
        self._store = Store()
        self._shelf = Shelf(self._store)

    def listeners(self) -> tuple[Listener, ...]:
        """The bootstrap server of a worker that computes prompts for others."""
        if self._transfer.role != "kv_producer":
            return ()
        return (Listener(self._registry.host, self._registry.port, self._answer),)

    def begin(self, ask: Ask) -> Leg:
        """Everything on a consumer should come with a prompt; it waits here for it."""
        params = parameters(ask)
        if params.get("do_remote_decode"):
            return Leg("prefill")
        if self._transfer.role != "kv_consumer":
            return Leg()
        wanted = ("remote_engine_id", "remote_bootstrap_addr", "transfer_id")
        if not params.get("do_remote_prefill") or not all(params.get(name) for name in wanted):
            return Leg("decode", recomputed=True)
        return received(self._transfer, ask, lambda: self._fetched(params))

    def end(self, leg: Leg, ask: Ask, key: str, rank: int) -> Mapping[str, Any] | None:
        """Keep the prompt; the router knows already where."""
        number = parameters(ask).get("transfer_id")
        if leg.part == "prefill" and number:
            self._store.put(str(number), record(self._worker, ask.prompts[0]))
        return None

    def _answer(self, request: Request) -> Response:
        if request.path != "/query":
            return self._shelf.answer(request)
        place = f"{self._registry.host}:{self._registry.port}"
        engine = {"engine_id": self._transfer.engine_id or self._worker, "worker_addr": {"0": {"0": place}}}
        return document({str(rank): engine for rank in self._registry.ranks})

    def _fetched(self, params: Mapping[str, Any]) -> Record:
        place = urlsplit(str(params["remote_bootstrap_addr"]))
        return fetch(place.hostname or "", place.port or 0, str(params["transfer_id"]), self._patience)
