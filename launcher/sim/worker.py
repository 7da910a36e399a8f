"""The worker: routes of the wire, and the way from a request to its answer."""

import itertools
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from launcher.sim import ask as asks
from launcher.sim.answer import Answer
from launcher.sim.ask import Ask, Problem
from launcher.sim.blocks import Cache, token
from launcher.sim.faults import Faults, Injected, Loading, Wait
from launcher.sim.generation import Generation, Pace, working
from launcher.sim.leg import Leg
from launcher.sim.message import Request, Response, document
from launcher.sim.personality import Personality, State
from launcher.sim.wire import Chat, Completions, Native, Stamp, Wire

_QUIET = frozenset({"/health", "/metrics", "/loads", "/v1/loads"})

Read = Callable[[Mapping[str, Any]], Ask]
Route = tuple[Read, Wire]


@dataclass(frozen=True)
class Begun:
    """A request that was accepted: the rank that serves it, the part this worker plays, and the answers to come."""

    ask: Ask
    leg: Leg
    rank: int
    generation: Generation


def say(text: str) -> None:
    """One line of log on stdout; nobody reading it is no reason to fail."""
    try:
        os.write(1, (text + "\n").encode("utf-8", "replace"))
    except OSError:
        return


class Worker:
    """Answers the requests of one worker."""

    def __init__(self, kind: Personality, loading: Loading, cache: Cache | None = None) -> None:
        self.handoff = kind.handoff()
        self.faults = Faults(kind.settings.orders)
        self._kind = kind
        self._cache = cache
        self._loading = loading
        self._settings = kind.settings
        self.pace = Pace(kind.settings.first_token_latency, kind.settings.token_latency)
        self._book = kind.book()
        self._turn = itertools.count()
        self._pages = kind.pages(State(kind.settings, self._book, loading))
        self._routes: dict[str, Route] = {
            "/v1/completions": (asks.completion, Completions()),
            "/v1/chat/completions": (asks.chat, Chat()),
        }
        if kind.native:
            self._routes["/generate"] = (asks.native, Native())

    def answer(self, request: Request) -> Response:
        """The answer to any request, marked with the name of this worker."""
        try:
            response = self._routed(request)
        except Problem as problem:
            response = self._kind.error(problem)
        if request.path not in _QUIET:
            say(f'"{request.method} {request.path}" {response.status}')
        return replace(response, headers={**response.headers, "x-sim-worker": self._settings.name})

    def _routed(self, request: Request) -> Response:
        page = self._pages.get(request.path)
        if page is not None:
            return page(request) if request.method == "GET" else _not_allowed("GET")
        route = self._routes.get(request.path)
        if route is not None:
            return self._generate(request, *route) if request.method == "POST" else _not_allowed("POST")
        rendered = self._routes.get(request.path.removesuffix("/render")) if self._kind.renders else None
        if rendered is not None:
            return self._rendered(request, *rendered) if request.method == "POST" else _not_allowed("POST")
        if request.path == self._kind.flush:
            return self._flushed(request)
        return document({"detail": "Not Found"}, 404)

    def _rendered(self, request: Request, read: Read, wire: Wire) -> Response:
        """The tokens of a prompt, as KV events have them."""
        if not self._settings.render:
            raise Problem(403, "Scale-out endpoints are disabled.", "PermissionDeniedError")
        ask = read(asks.parsed(request))
        self._kind.check(ask)
        tables = [
            {"request_id": os.urandom(16).hex(), "token_ids": [token(word) for word in prompt], "sampling_params": {}}
            for prompt in ask.prompts
        ]
        return document(tables if wire.batched else tables[0])

    def _flushed(self, request: Request) -> Response:
        if request.method not in self._kind.flushes:
            return _not_allowed(", ".join(self._kind.flushes))
        self.forget()
        return Response()

    def forget(self) -> None:
        """Nothing is kept of what was computed so far."""
        if self._cache is not None:
            self._cache.clear()

    def _generate(self, request: Request, read: Read, wire: Wire) -> Response:
        if not self._loading.done:
            request.wait(self._loading.left())
        ask = read(asks.parsed(request))
        self._kind.check(ask)
        begun = self.begin(ask, self._kind.rank(request, ask), request.wait)
        key = wire.prefix + (request.headers.get("x-request-id") or os.urandom(16).hex())
        stamp = self._stamp(begun, key)
        answer = Answer(wire, stamp, ask, begun.leg, begun.generation, self.handoff, begun.rank)
        if ask.stream:
            stream = answer.stream(self.pace, request.wait)
            return Response(200, stream, "text/event-stream; charset=utf-8", sent=self.faults.answered)
        return replace(document(answer.whole(self.pace, request.wait)), sent=self.faults.answered)

    def begin(self, ask: Ask, number: int | None, wait: Wait) -> Begun:
        """Accept `ask` on the rank `number` (None: each in turn), once injected failures and the hand-over have had
        their say. Raises Problem where it is refused, Gone where the client leaves.
        """
        rank = self._rank(number)
        with working(self._book, rank):
            try:
                self.faults.arrive(wait)
            except Injected as fault:
                raise Problem(500, f"injected failure: {fault}", "InternalServerError") from fault
            leg = self.handoff.begin(ask)
        if leg.part == "prefill":
            self._book.prefilled()
        if leg.recomputed:
            self._book.recomputed()
        if leg.source is not None:
            self._book.handed_over(rank, ask.prompt_tokens)
        return Begun(ask, leg, rank, Generation(ask, leg, rank, self._book, self._cache))

    def running(self) -> Iterator[tuple[int, int]]:
        """Each rank and the requests it has in work."""
        yield from ((rank, self._book.running(rank)) for rank in self._settings.ranks)

    def _rank(self, number: int | None) -> int:
        ranks = self._settings.ranks
        if number is None:
            return ranks[next(self._turn) % len(ranks)]
        if not 0 <= number < len(ranks):
            raise Problem(400, f"data_parallel_rank {number} is out of range [0, {len(ranks)}).")
        return ranks[number]

    def _stamp(self, begun: Begun, key: str) -> Stamp:
        name, leg = self._settings.name, begun.leg
        sim = {
            "worker": name,
            "rank": begun.rank,
            "part": leg.part,
            "recomputed": leg.recomputed,
            "handed_over": leg.source is not None,
            "prefilled_by": leg.source,
        }
        model = begun.ask.model or self._settings.served_name
        return Stamp(key, int(time.time()), model, f"{name}{leg.mark}", sim)


def _not_allowed(allowed: str) -> Response:
    return replace(document({"detail": "Method Not Allowed"}, 405), headers={"allow": allowed})
