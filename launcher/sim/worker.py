"""The worker: routes of the wire, and the way from a request to its answer."""

import itertools
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from launcher.sim import ask as asks
from launcher.sim.answer import Answer
from launcher.sim.ask import Ask, Problem
from launcher.sim.faults import Faults, Injected, Loading
from launcher.sim.generation import Generation, Pace, working
from launcher.sim.leg import Leg
from launcher.sim.message import Request, Response, document
from launcher.sim.personality import Personality, State
from launcher.sim.wire import Chat, Completions, Native, Stamp, Wire

_QUIET = frozenset({"/health", "/metrics", "/loads", "/v1/loads"})

Read = Callable[[Mapping[str, Any]], Ask]
Route = tuple[Read, Wire]


def say(text: str) -> None:
    """One line of log on stdout; nobody reading it is no reason to fail."""
    try:
        os.write(1, (text + "\n").encode("utf-8", "replace"))
    except OSError:
        return


class Worker:
    """Answers the requests of one worker."""

    def __init__(self, kind: Personality, loading: Loading) -> None:
        self.handoff = kind.handoff()
        self.faults = Faults(kind.settings.orders)
        self._kind = kind
        self._loading = loading
        self._settings = kind.settings
        self._pace = Pace(kind.settings.first_token_latency, kind.settings.token_latency)
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
        return document({"detail": "Not Found"}, 404)

    def _generate(self, request: Request, read: Read, wire: Wire) -> Response:
        if not self._loading.done:
            request.wait(self._loading.left())
        ask = read(asks.parsed(request))
        self._kind.check(ask)
        rank = self._rank(request, ask)
        leg = self._accepted(request, ask, rank)
        key = wire.prefix + (request.headers.get("x-request-id") or os.urandom(16).hex())
        stamp = self._stamp(ask, leg, key, rank)
        answer = Answer(wire, stamp, ask, leg, Generation(ask, leg, rank, self._book), self.handoff, rank)
        if ask.stream:
            stream = answer.stream(self._pace, request.wait)
            return Response(200, stream, "text/event-stream; charset=utf-8", sent=self.faults.answered)
        return replace(document(answer.whole(self._pace, request.wait)), sent=self.faults.answered)

    def _accepted(self, request: Request, ask: Ask, rank: int) -> Leg:
        """The part this worker plays for `ask`, once injected failures and the hand-over have had their say."""
        with working(self._book, rank):
            try:
                self.faults.arrive(request.wait)
            except Injected as fault:
                raise Problem(500, f"injected failure: {fault}", "InternalServerError") from fault
            leg = self.handoff.begin(ask)
        if leg.part == "prefill":
            self._book.prefilled()
        if leg.recomputed:
            self._book.recomputed()
        if leg.source is not None:
            self._book.handed_over(rank, ask.prompt_tokens)
        return leg

    def _rank(self, request: Request, ask: Ask) -> int:
        """The rank that serves: the one asked for, else each in turn."""
        number = self._kind.rank(request, ask)
        ranks = self._settings.ranks
        if number is None:
            return ranks[next(self._turn) % len(ranks)]
        if not 0 <= number < len(ranks):
            raise Problem(400, f"data_parallel_rank {number} is out of range [0, {len(ranks)}).")
        return ranks[number]

    def _stamp(self, ask: Ask, leg: Leg, key: str, rank: int) -> Stamp:
        name = self._settings.name
        sim = {
            "worker": name,
            "rank": rank,
            "part": leg.part,
            "recomputed": leg.recomputed,
            "handed_over": leg.source is not None,
            "prefilled_by": leg.source,
        }
        how = ":recomputed" if leg.recomputed else ":handed-over" if leg.source is not None else ""
        return Stamp(key, int(time.time()), ask.model or self._settings.served_name, name + how, sim)


def _not_allowed(allowed: str) -> Response:
    return replace(document({"detail": "Method Not Allowed"}, 405), headers={"allow": allowed})
