"""What every engine serves to SMG over gRPC: the services of smg-grpc-proto 0.4.28, as smg-grpc-servicer 0.14.1 fills
them. Their messages are alike but for a few fields.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from grpc_health.v1 import health_pb2
from smg_grpc_proto.generated import common_pb2 as common

from launcher.sim import VERSION
from launcher.sim import ask as asks
from launcher.sim.ask import Ask, Problem
from launcher.sim.faults import Loading
from launcher.sim.parser import Settings
from launcher.sim.rpc import Call, Method
from launcher.sim.text import MAX_MODEL_LEN, Reply
from launcher.sim.tokenizer import END, Archive, archive
from launcher.sim.wire import Piece
from launcher.sim.worker import Begun, Worker, say

AT_ONCE = 1024
"""Requests a scheduler says to take at a time."""


class Dialect:
    """The service of one engine: a subclass has its names, and what it says besides."""

    service: str
    messages: Any
    """The module of its messages."""
    limits: tuple[str, str]
    """The sampling parameters that are the most and the fewest tokens."""
    sums: bool
    """Whether an answer in pieces counts all tokens so far, not those of the piece."""

    def __init__(self, settings: Settings, worker: Worker, loading: Loading) -> None:
        self.settings = settings
        self.worker = worker
        self.loading = loading
        self._archive: Archive | None = None

    def services(self) -> Mapping[str, Mapping[str, Method]]:
        """The methods of this service and of `grpc.health.v1.Health`, by name."""
        own = self.messages
        methods = {
            "Generate": Method(own.GenerateRequest, self._generate, streams=True),
            "HealthCheck": Method(own.HealthCheckRequest, self._health),
            "Abort": Method(own.AbortRequest, self.abort),
            "GetModelInfo": Method(own.GetModelInfoRequest, self.model),
            "GetServerInfo": Method(own.GetServerInfoRequest, self.server),
            "GetLoads": Method(own.GetLoadsRequest, self._loads),
            "FlushCache": Method(common.FlushCacheRequest, self._flush),
            "GetTokenizer": Method(common.GetTokenizerRequest, self._tokenizer, streams=True),
        }
        health = {"Check": Method(health_pb2.HealthCheckRequest, self._checked)}
        return {self.service: methods, "grpc.health.v1.Health": health}

    def moves(self, message: Any) -> Mapping[str, Any]:
        """What a message says of the hand-over, as the same engine has it over HTTP. Raises Problem."""
        raise NotImplementedError

    def server(self, _: Any, call: Call) -> Any:
        """How the server was started."""
        raise NotImplementedError

    def abort(self, _: Any, call: Call) -> Any:
        """A client leaves by its call; nothing is to be done."""
        return self.messages.AbortResponse()

    def model(self, _: Any, call: Call) -> Any:
        """What model is served."""
        return self.messages.GetModelInfoResponse(
            model_path=self.settings.model,
            is_generation=True,
            max_context_length=MAX_MODEL_LEN,
            vocab_size=END + 1,
            served_model_name=self.settings.served_name,
            tokenizer_path=self.settings.model,
            model_type="llama",
            architectures=["LlamaForCausalLM"],
            eos_token_ids=[END],
            max_req_input_len=MAX_MODEL_LEN,
        )

    def response(self, message: Any, **said: Any) -> Any:
        """The answer to `message` that has a piece or the end."""
        return self.messages.GenerateResponse(**said)

    def complete(self, begun: Begun, answer: tuple[int, Reply], transfer: Any) -> Any:
        """The end of the answer of a number."""
        index, reply = answer
        # The end of a stream repeats its last token; what is whole has all.
        tokens = [asks.number(piece) for piece in reply.pieces[-1 if begun.ask.stream else 0 :]]
        return self.messages.GenerateComplete(
            output_ids=tokens,
            finish_reason=reply.reason,
            prompt_tokens=begun.ask.prompt_tokens,
            completion_tokens=len(reply.pieces if self.sums else tokens),
            index=index,
        )

    def _read(self, message: Any) -> tuple[Ask, int | None]:
        """What a message asks for, and the rank it is to go to. Raises Problem."""
        given = message.sampling_params
        most, fewest = self.limits
        raw = {
            "prompt": list(message.tokenized.input_ids),
            "max_tokens": getattr(given, most) if given.HasField(most) else None,
            "min_tokens": getattr(given, fewest),
            "ignore_eos": given.ignore_eos,
            "n": given.n or 1,
            "stream": message.stream,
            **self.moves(message),
        }
        return asks.tokens(raw), message.data_parallel_rank if message.HasField("data_parallel_rank") else None

    def _generate(self, message: Any, call: Call) -> Iterator[Any]:
        """The answer to one prompt: its tokens as they come where a stream is asked for, and a last word."""
        ask, number = self._read(message)
        begun = self.worker.begin(ask, number, call.wait)
        with closing(begun.generation.steps(self.worker.pace, call.wait)) as steps:
            for pieces in steps:
                yield from (self.response(message, chunk=self._chunk(begun, piece)) for piece in pieces if ask.stream)
        transfer = self.worker.handoff.end(begun.leg, ask, message.request_id, begun.rank)
        for answer in enumerate(begun.generation.replies):
            yield self.response(message, complete=self.complete(begun, answer, transfer))
        say(f'"Generate" {begun.leg.part}{begun.leg.mark} {begun.ask.prompt_tokens} tokens')
        call.answered(self.worker.faults.answered)

    def _chunk(self, begun: Begun, piece: Piece) -> Any:
        return self.messages.GenerateStreamChunk(
            token_ids=[asks.number(piece.text)],
            prompt_tokens=begun.ask.prompt_tokens,
            completion_tokens=piece.count if self.sums else 1,
            index=piece.index,
        )

    def _health(self, _: Any, call: Call) -> Any:
        return self.messages.HealthCheckResponse(healthy=self.loading.done, message="Health")

    def _loads(self, _: Any, call: Call) -> Any:
        own = self.messages
        loads = [
            own.SchedulerLoad(dp_rank=rank, num_running_reqs=count, num_total_reqs=count, max_running_requests=AT_ONCE)
            for rank, count in self.worker.running()
        ]
        return own.GetLoadsResponse(version=f"{VERSION}+sim", dp_rank_count=len(loads), loads=loads)

    def _tokenizer(self, _: Any, call: Call) -> Iterator[Any]:
        """The files of the tokenizer."""
        self._archive = self._archive or archive(self.settings.model)
        for data, digest in self._archive.chunks():
            yield common.GetTokenizerChunk(data=data, sha256=digest)

    def _flush(self, _: Any, call: Call) -> Any:
        """The KV cache is emptied."""
        self.worker.forget()
        return common.FlushCacheResponse(success=True)

    def _checked(self, message: Any, call: Call) -> Any:
        """The answer of `grpc.health.v1.Health`."""
        if message.service not in ("", self.service):
            raise Problem(404, f"unknown service {message.service!r}")
        status = health_pb2.HealthCheckResponse
        return status(status=status.SERVING if self.loading.done else status.NOT_SERVING)
