"""What SGLang serves over gRPC: `sglang.grpc.scheduler.SglangScheduler`."""

from collections.abc import Mapping
from typing import Any

from google.protobuf.struct_pb2 import Struct
from smg_grpc_proto import sglang_scheduler_pb2 as sglang

from launcher.sim import VERSION
from launcher.sim.dialect import AT_ONCE, Dialect
from launcher.sim.rpc import Call
from launcher.sim.text import MAX_MODEL_LEN


class Sglang(Dialect):
    """SGLang's service."""

    service = "sglang.grpc.scheduler.SglangScheduler"
    messages = sglang
    limits = ("max_new_tokens", "min_new_tokens")
    sums = True

    def moves(self, message: Any) -> Mapping[str, Any]:
        if not message.HasField("disaggregated_params"):
            return {}
        moves = message.disaggregated_params
        return {
            "bootstrap_host": moves.bootstrap_host or None,
            "bootstrap_port": moves.bootstrap_port or None,
            "bootstrap_room": moves.bootstrap_room,
        }

    def server(self, _: Any, call: Call) -> Any:
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
                "max_running_requests": AT_ONCE,
            }
        )
        return sglang.GetServerInfoResponse(
            server_args=told,
            sglang_version=f"{VERSION}+sim",
            server_type="grpc",
            max_total_num_tokens=MAX_MODEL_LEN,
        )

    def abort(self, _: Any, call: Call) -> Any:
        return sglang.AbortResponse(success=True)

    def model(self, _: Any, call: Call) -> Any:
        told = super().model(_, call)
        told.weight_version = self.settings.name
        return told

    def response(self, message: Any, **said: Any) -> Any:
        return sglang.GenerateResponse(request_id=message.request_id, **said)


DIALECT = Sglang
