"""Which engine the worker passes for: its pages, its errors, its names of metrics, when its port opens.

vLLM as of 0.32.0 (`vllm/entrypoints/`), SGLang as of 0.5.23 (`sglang/srt/entrypoints/`), TensorRT-LLM as of 1.3.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from launcher.sim import NAME, VERSION
from launcher.sim.ask import Ask, Problem
from launcher.sim.bootstrap import Bootstrap
from launcher.sim.faults import Loading
from launcher.sim.leg import Alone, Handoff
from launcher.sim.message import Request, Response, document
from launcher.sim.metrics import SGLANG, TRTLLM, VLLM, Book
from launcher.sim.mooncake import Mooncake, Registry
from launcher.sim.parser import Settings
from launcher.sim.text import MAX_MODEL_LEN
from launcher.sim.transfer import Nixl, Side

Page = Callable[[Request], Response]
TEXT = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True)
class State:
    """What pages tell about: fixed settings, the book of requests, whether the model is loaded."""

    settings: Settings
    book: Book
    loading: Loading


class Personality:
    """What both engines have in common."""

    opens_early = False
    """Whether the port is open while the model loads."""
    native = False
    """Whether SGLang's own `/generate` is spoken."""
    renders = False
    """Whether a page that ends in `/render` tells the tokens of a prompt."""
    rpc = ""
    """The module with the engine's gRPC service; none where that is not simulated."""
    flushes: tuple[str, ...] = ("POST",)
    """Methods by which the page `flush` is asked for."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @property
    def flush(self) -> str | None:
        """The page that empties the KV cache."""
        return None

    def book(self) -> Book:
        """An empty book under this engine's names."""
        raise NotImplementedError

    def handoff(self) -> Handoff:
        """The engine's way from prefill to decode."""
        raise NotImplementedError

    def pages(self, state: State) -> Mapping[str, Page]:
        """The pages that are read with GET, by path."""
        raise NotImplementedError

    def error(self, problem: Problem) -> Response:
        """An error in this engine's words."""
        raise NotImplementedError

    def check(self, ask: Ask) -> None:
        """Raise Problem where this engine would refuse the model of `ask`."""

    def rank(self, request: Request, ask: Ask) -> int | None:
        """The data-parallel rank the client asks for, counted from 0 on this worker."""
        raise NotImplementedError


class Vllm(Personality):
    """The port stays closed until the model is loaded."""

    renders = True
    rpc = "launcher.sim.rpc_vllm"

    @property
    def flush(self) -> str | None:
        return "/reset_prefix_cache" if self.settings.development else None

    def book(self) -> Book:
        settings = self.settings
        return Book(VLLM, settings.name, settings.served_name, settings.ranks, None)

    def handoff(self) -> Handoff:
        settings = self.settings
        transfer = settings.transfer
        if transfer is not None and transfer.mooncake and not transfer.nixl:
            registry = Registry(settings.host, settings.mooncake_port, settings.ranks)
            return Mooncake(transfer, settings.name, registry, settings.handoff_timeout)
        if transfer is None or not transfer.nixl:
            return Alone()
        return Nixl(transfer, settings.name, Side(settings.side_host, settings.side_port, settings.ranks))

    def pages(self, state: State) -> Mapping[str, Page]:
        card = {
            **_card(self.settings, "vllm"),
            "root": self.settings.model,
            "permission": [{"id": "modelperm-sim", "object": "model_permission", "allow_sampling": True}],
        }
        return {
            "/health": lambda _: Response(),
            "/ping": lambda _: Response(),
            "/v1/models": lambda _: document({"object": "list", "data": [card]}),
            "/version": lambda _: document({"version": f"{VERSION}+sim"}),
            "/kv_event_sources": lambda _: document(_sources(self.settings)),
            "/load": lambda _: document({"server_load": sum(map(state.book.running, self.settings.ranks))}),
            "/metrics": lambda _: Response(200, state.book.registry.text().encode(), TEXT),
        }

    def error(self, problem: Problem) -> Response:
        error = {"message": str(problem), "type": problem.kind, "param": problem.param, "code": problem.status}
        return document({"error": error}, problem.status)

    def check(self, ask: Ask) -> None:
        if ask.model and ask.model != self.settings.served_name:
            raise Problem(404, f"The model `{ask.model}` does not exist.", "NotFoundError", "model")

    def rank(self, request: Request, ask: Ask) -> int | None:
        text = request.headers.get("x-data-parallel-rank", "")
        return int(text) if text.lstrip("-").isascii() and text.lstrip("-").isdigit() else None


class Trtllm(Vllm):
    """Speaks as vLLM does, but for its pages: `/metrics` is JSON, and Prometheus has a page of its own, if that is on.

    TensorRT-LLM 1.2 to 1.4, `serve/openai_server.py`.
    """

    renders = False
    rpc = ""

    def book(self) -> Book:
        settings = self.settings
        return Book(TRTLLM, settings.name, settings.served_name, settings.ranks, None)

    def pages(self, state: State) -> Mapping[str, Page]:
        card = _card(self.settings, "tensorrt_llm")
        found: dict[str, Page] = {
            "/health": lambda _: Response(),
            "/v1/models": lambda _: document({"object": "list", "data": [card]}),
            "/version": lambda _: document({"version": f"{VERSION}+sim"}),
            "/metrics": lambda _: document([]),
        }
        if self.settings.prometheus:
            found["/prometheus/metrics"] = lambda _: Response(200, state.book.registry.text().encode(), TEXT)
        return found


class Sglang(Personality):
    """The port opens at once and `/health` answers 503 until the model is loaded (in the engine: while it warms up)."""

    opens_early = True
    native = True
    rpc = "launcher.sim.rpc_sglang"
    flushes = ("GET", "POST")

    @property
    def flush(self) -> str | None:
        return "/flush_cache"

    def book(self) -> Book:
        settings = self.settings
        part = "unified" if settings.mode == "null" else settings.mode
        return Book(SGLANG, settings.name, settings.served_name, settings.ranks, part)

    def handoff(self) -> Handoff:
        settings = self.settings
        address = (settings.host, settings.bootstrap_port)
        if settings.mode == "prefill":
            return Bootstrap("prefill", settings.name, address, settings.handoff_timeout)
        if settings.mode == "decode":
            return Bootstrap("decode", settings.name, address, settings.handoff_timeout)
        return Alone()

    def pages(self, state: State) -> Mapping[str, Page]:
        card = {**_card(self.settings, "sglang"), "root": self.settings.served_name}

        def health(_: Request) -> Response:
            return Response(200 if state.loading.done else 503)

        return {
            "/health": health,
            "/health_generate": health,
            "/v1/models": lambda _: document({"object": "list", "data": [card]}),
            f"/v1/models/{self.settings.served_name}": lambda _: document(card),
            "/model_info": lambda _: document(self._model_info()),
            "/get_model_info": lambda _: document(self._model_info()),
            "/server_info": lambda _: document(self._server_info(state)),
            "/get_server_info": lambda _: document(self._server_info(state)),
            "/v1/loads": lambda _: document(self._loads(state)),
            "/metrics": lambda _: Response(200, state.book.registry.text().encode(), TEXT),
        }

    def error(self, problem: Problem) -> Response:
        error = {"object": "error", "message": str(problem), "type": problem.kind, "param": problem.param}
        return document({**error, "code": problem.status}, problem.status)

    def rank(self, request: Request, ask: Ask) -> int | None:
        value = ask.raw.get("routed_dp_rank", ask.raw.get("data_parallel_rank"))
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def _model_info(self) -> dict[str, Any]:
        return {
            "model_path": self.settings.model,
            "served_model_name": self.settings.served_name,
            "tokenizer_path": self.settings.model,
            "is_generation": True,
            "preferred_sampling_params": None,
            "weight_version": "default",
            "disaggregation_mode": self.settings.mode,
            "has_image_understanding": False,
            "has_audio_understanding": False,
        }

    def _server_info(self, state: State) -> dict[str, Any]:
        settings = self.settings
        running = [{"num_running_reqs": state.book.running(rank)} for rank in settings.ranks]
        return {
            **self._model_info(),
            "host": settings.host,
            "port": settings.port,
            "tp_size": 1,
            "pp_size": 1,
            "dp_size": settings.dp_size,
            "context_length": MAX_MODEL_LEN,
            "max_total_num_tokens": MAX_MODEL_LEN,
            "max_running_requests": 1024,
            "disaggregation_bootstrap_port": settings.bootstrap_port,
            "disaggregation_transfer_backend": NAME,
            "internal_states": running,
            "version": f"{VERSION}+sim",
        }

    def _loads(self, state: State) -> dict[str, Any]:
        loads = [
            {
                "dp_rank": number,
                "num_running_reqs": state.book.running(rank),
                "num_waiting_reqs": 0,
                "num_used_tokens": 0,
                "num_total_tokens": 0,
                "max_total_num_tokens": MAX_MODEL_LEN,
                "token_usage": 0.0,
                "gen_throughput": 0.0,
                "cache_hit_rate": 0.0,
            }
            for number, rank in enumerate(self.settings.ranks)
        ]
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        return {"timestamp": stamp, "version": f"{VERSION}+sim", "dp_rank_count": len(loads), "loads": loads}


def _sources(settings: Settings) -> dict[str, Any]:
    """Rank → what its publisher of KV events was told; nothing where there is none."""
    events = settings.events
    return {} if events is None else {str(rank): events.of(rank).told for rank in settings.ranks}


def _card(settings: Settings, owner: str) -> dict[str, Any]:
    return {
        "id": settings.served_name,
        "object": "model",
        "created": int(time.time()),
        "owned_by": owner,
        "parent": None,
        "max_model_len": MAX_MODEL_LEN,
    }


_KINDS: Mapping[str, type[Personality]] = {"vllm": Vllm, "sglang": Sglang, "trtllm": Trtllm}


def personality(settings: Settings) -> Personality:
    """The personality that `settings` name; a worker without a name is called after its port."""
    named = replace(settings, name=settings.name or f"sim-{settings.port}")
    return _KINDS[settings.personality](named)
