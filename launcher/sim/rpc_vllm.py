"""What `vllm serve --grpc` serves: `vllm.grpc.engine.VllmEngine`."""

import json
from collections.abc import Mapping
from typing import Any

from smg_grpc_proto import vllm_engine_pb2 as vllm

from launcher.sim.ask import Problem
from launcher.sim.blocks import BLOCK
from launcher.sim.dialect import AT_ONCE, Dialect
from launcher.sim.rpc import Call
from launcher.sim.text import Reply
from launcher.sim.transfer import Transfer
from launcher.sim.worker import Begun


class Vllm(Dialect):
    """vLLM's service."""

    service = "vllm.grpc.engine.VllmEngine"
    messages = vllm
    limits = ("max_tokens", "min_tokens")
    sums = False

    def moves(self, message: Any) -> Mapping[str, Any]:
        if not message.HasField("kv_transfer_params_json"):
            return {}
        try:
            return {"kv_transfer_params": json.loads(message.kv_transfer_params_json)}
        except (ValueError, RecursionError) as fault:
            raise Problem(400, f"Invalid kv_transfer_params_json: {fault}") from fault

    def server(self, _: Any, call: Call) -> Any:
        transfer = self.settings.transfer
        # Of a connector with others inside, the one that hands over is told.
        moves = {} if transfer is None else {
            "kv_connector": _connector(transfer),
            "kv_role": transfer.role,
            "kv_engine_id": transfer.engine_id or self.settings.name,
        }  # fmt: skip
        own = {"data_parallel_size": self.settings.dp_size, "max_num_seqs": AT_ONCE}
        return vllm.GetServerInfoResponse(kv_cache_dtype="auto", block_size=BLOCK, **own, **moves)

    def complete(self, begun: Begun, answer: tuple[int, Reply], transfer: Any) -> Any:
        said = super().complete(begun, answer, transfer)
        if transfer is not None:
            said.kv_transfer_params_json = json.dumps(transfer)
        return said


def _connector(transfer: Transfer) -> str:
    if transfer.nixl:
        return "NixlConnector"
    return "MooncakeConnector" if transfer.mooncake else transfer.connector


DIALECT = Vllm
