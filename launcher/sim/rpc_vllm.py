"""What `vllm serve --grpc` serves: `vllm.grpc.engine.VllmEngine` of smg-grpc-proto 0.4.28, as smg-grpc-servicer 0.14.1
fills it.
"""

import json
from collections.abc import Mapping
from typing import Any

from smg_grpc_proto import vllm_engine_pb2 as vllm
from smg_grpc_proto.generated import common_pb2 as common

from launcher.sim import VERSION
from launcher.sim import ask as asks
from launcher.sim.ask import Ask, Problem
from launcher.sim.blocks import BLOCK
from launcher.sim.rpc import Call, Dialect, Method
from launcher.sim.text import MAX_MODEL_LEN, Reply
from launcher.sim.tokenizer import END
from launcher.sim.transfer import Transfer
from launcher.sim.wire import Piece
from launcher.sim.worker import Begun

_AT_ONCE = 1024


class Vllm(Dialect):
    """vLLM's service."""

    service = "vllm.grpc.engine.VllmEngine"

    def methods(self) -> Mapping[str, Method]:
        return {
            "Generate": Method(vllm.GenerateRequest, self.generate, streams=True),
            "HealthCheck": Method(vllm.HealthCheckRequest, self._health),
            "Abort": Method(vllm.AbortRequest, lambda *_: vllm.AbortResponse()),
            "GetModelInfo": Method(vllm.GetModelInfoRequest, self._model),
            "GetServerInfo": Method(vllm.GetServerInfoRequest, self._server),
            "GetLoads": Method(vllm.GetLoadsRequest, self._loads),
            "FlushCache": Method(common.FlushCacheRequest, self.flush),
            "GetTokenizer": Method(common.GetTokenizerRequest, self.tokenizer, streams=True),
        }

    def read(self, message: Any) -> tuple[Ask, int | None]:
        given = message.sampling_params
        raw: dict[str, Any] = {
            "prompt": list(message.tokenized.input_ids),
            "max_tokens": given.max_tokens if given.HasField("max_tokens") else None,
            "min_tokens": given.min_tokens,
            "ignore_eos": given.ignore_eos,
            "n": given.n or 1,
            "stream": message.stream,
        }
        if message.HasField("kv_transfer_params_json"):
            raw["kv_transfer_params"] = _table(message.kv_transfer_params_json)
        return asks.tokens(raw), message.data_parallel_rank if message.HasField("data_parallel_rank") else None

    def chunk(self, message: Any, begun: Begun, piece: Piece) -> Any:
        said = vllm.GenerateStreamChunk(
            token_ids=[asks.number(piece.text)],
            prompt_tokens=begun.ask.prompt_tokens,
            completion_tokens=1,
            index=piece.index,
        )
        return vllm.GenerateResponse(chunk=said)

    def complete(self, message: Any, begun: Begun, answer: tuple[int, Reply], transfer: Any) -> Any:
        index, reply = answer
        # The end of a stream repeats its last token; what is whole has all.
        tokens = [asks.number(piece) for piece in reply.pieces[-1 if begun.ask.stream else 0 :]]
        said = vllm.GenerateComplete(
            output_ids=tokens,
            finish_reason=reply.reason,
            prompt_tokens=begun.ask.prompt_tokens,
            completion_tokens=len(tokens),
            index=index,
        )
        if transfer is not None:
            said.kv_transfer_params_json = json.dumps(transfer)
        return vllm.GenerateResponse(complete=said)

    def _health(self, _: Any, call: Call) -> Any:
        return vllm.HealthCheckResponse(healthy=self.loading.done, message="Health")

    def _model(self, _: Any, call: Call) -> Any:
        return vllm.GetModelInfoResponse(
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

    def _server(self, _: Any, call: Call) -> Any:
        transfer = self.settings.transfer
        # Of a connector with others inside, the one that hands over is told.
        moves = {} if transfer is None else {
            "kv_connector": _connector(transfer),
            "kv_role": transfer.role,
            "kv_engine_id": transfer.engine_id or self.settings.name,
        }  # fmt: skip
        own = {"data_parallel_size": self.settings.dp_size, "max_num_seqs": _AT_ONCE}
        return vllm.GetServerInfoResponse(kv_cache_dtype="auto", block_size=BLOCK, **own, **moves)

    def _loads(self, _: Any, call: Call) -> Any:
        loads = [
            vllm.SchedulerLoad(
                dp_rank=rank, num_running_reqs=count, num_total_reqs=count, max_running_requests=_AT_ONCE
            )
            for rank, count in self.worker.running()
        ]
        return vllm.GetLoadsResponse(version=f"{VERSION}+sim", dp_rank_count=len(loads), loads=loads)


def _connector(transfer: Transfer) -> str:
    if transfer.nixl:
        return "NixlConnector"
    return "MooncakeConnector" if transfer.mooncake else transfer.connector


def _table(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise Problem(400, f"Invalid kv_transfer_params_json: {fault}") from fault


DIALECT = Vllm
