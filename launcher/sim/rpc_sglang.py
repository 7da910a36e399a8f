"""What SGLang serves over gRPC: `sglang.grpc.scheduler.SglangScheduler` of smg-grpc-proto 0.4.28, as smg-grpc-servicer
0.14.1 fills it.
"""

from collections.abc import Mapping
from typing import Any

from google.protobuf.struct_pb2 import Struct
from smg_grpc_proto import sglang_scheduler_pb2 as sglang
from smg_grpc_proto.generated import common_pb2 as common

from launcher.sim import VERSION
from launcher.sim import ask as asks
from launcher.sim.ask import Ask
from launcher.sim.rpc import Call, Dialect, Method
from launcher.sim.text import MAX_MODEL_LEN, Reply
from launcher.sim.tokenizer import END
from launcher.sim.wire import Piece
from launcher.sim.worker import Begun


class Sglang(Dialect):
    """SGLang's service."""

    service = "sglang.grpc.scheduler.SglangScheduler"

    def methods(self) -> Mapping[str, Method]:
        return {
            "Generate": Method(sglang.GenerateRequest, self.generate, streams=True),
            "HealthCheck": Method(sglang.HealthCheckRequest, self._health),
            "Abort": Method(sglang.AbortRequest, lambda *_: sglang.AbortResponse(success=True)),
            "GetModelInfo": Method(sglang.GetModelInfoRequest, self._model),
            "GetServerInfo": Method(sglang.GetServerInfoRequest, self._server),
            "GetLoads": Method(sglang.GetLoadsRequest, self._loads),
            "FlushCache": Method(common.FlushCacheRequest, self.flush),
            "GetTokenizer": Method(common.GetTokenizerRequest, self.tokenizer, streams=True),
        }

    def read(self, message: Any) -> tuple[Ask, int | None]:
        given = message.sampling_params
        raw: dict[str, Any] = {
            "prompt": list(message.tokenized.input_ids),
            "max_tokens": given.max_new_tokens if given.HasField("max_new_tokens") else None,
            "min_tokens": given.min_new_tokens,
            "ignore_eos": given.ignore_eos,
            "n": given.n or 1,
            "stream": message.stream,
        }
        if message.HasField("disaggregated_params"):
            moves = message.disaggregated_params
            raw |= {
                "bootstrap_host": moves.bootstrap_host or None,
                "bootstrap_port": moves.bootstrap_port or None,
                "bootstrap_room": moves.bootstrap_room,
            }
        return asks.tokens(raw), message.data_parallel_rank if message.HasField("data_parallel_rank") else None

    def chunk(self, message: Any, begun: Begun, piece: Piece) -> Any:
        said = sglang.GenerateStreamChunk(
            token_ids=[asks.number(piece.text)],
            prompt_tokens=begun.ask.prompt_tokens,
            completion_tokens=piece.count,
            index=piece.index,
        )
        return sglang.GenerateResponse(request_id=message.request_id, chunk=said)

    def complete(self, message: Any, begun: Begun, answer: tuple[int, Reply], transfer: Any) -> Any:
        index, reply = answer
        said = sglang.GenerateComplete(
            output_ids=[asks.number(piece) for piece in reply.pieces[-1 if begun.ask.stream else 0 :]],
            finish_reason=reply.reason,
            prompt_tokens=begun.ask.prompt_tokens,
            completion_tokens=len(reply.pieces),
            index=index,
        )
        return sglang.GenerateResponse(request_id=message.request_id, complete=said)

    def _health(self, _: Any, call: Call) -> Any:
        return sglang.HealthCheckResponse(healthy=self.loading.done, message="Health")

    def _model(self, _: Any, call: Call) -> Any:
        return sglang.GetModelInfoResponse(
            model_path=self.settings.model,
            tokenizer_path=self.settings.model,
            is_generation=True,
            weight_version=self.settings.name,
            served_model_name=self.settings.served_name,
            max_context_length=MAX_MODEL_LEN,
            vocab_size=END + 1,
            model_type="llama",
            architectures=["LlamaForCausalLM"],
            eos_token_ids=[END],
            max_req_input_len=MAX_MODEL_LEN,
        )

    def _server(self, _: Any, call: Call) -> Any:
        settings, told = self.settings, Struct()
        told.update(
            {
                "model_path": settings.model,
                "served_model_name": settings.served_name,
                "host": settings.host,
                "port": settings.port,
                "tp_size": 1,
                "dp_size": settings.dp_size,
                "disaggregation_mode": settings.mode,
                "disaggregation_bootstrap_port": settings.bootstrap_port,
                "max_running_requests": 1024,
            }
        )
        return sglang.GetServerInfoResponse(
            server_args=told,
            sglang_version=f"{VERSION}+sim",
            server_type="grpc",
            max_total_num_tokens=MAX_MODEL_LEN,
        )

    def _loads(self, _: Any, call: Call) -> Any:
        loads = [
            sglang.SchedulerLoad(dp_rank=rank, num_running_reqs=count, num_total_reqs=count, max_running_requests=1024)
            for rank, count in self.worker.running()
        ]
        return sglang.GetLoadsResponse(version=f"{VERSION}+sim", dp_rank_count=len(loads), loads=loads)


DIALECT = Sglang
