"""Shepherd Model Gateway in front of vLLM, SGLang or TensorRT-LLM.

Facts: smg 1.11 and 1.13. In prefill/decode it hands the KV cache over by SGLang's bootstrap, and for vLLM over gRPC
alone: vLLM over HTTP answers 200 while decode recomputes every prompt. With `--dp-aware` it lists every data-parallel
rank of SGLang workers; of vLLM workers over HTTP it cannot tell them.
"""

from collections.abc import Mapping
from typing import ClassVar

from launcher.model.job import Role
from launcher.roles.base import Endpoint, Handoff
from launcher.roles.command import given
from launcher.roles.router import Kind, Router


class Smg(Router):
    """Workers over HTTP or gRPC."""

    serves: ClassVar[frozenset[Kind]] = frozenset(
        [
            ("vllm", "http"),
            ("vllm", "grpc"),
            ("sglang", "http"),
            ("sglang", "grpc"),
            ("trtllm", "http"),
            ("trtllm", "grpc"),
        ]
    )
    hands_over: ClassVar[Mapping[Kind, Handoff]] = {
        ("vllm", "grpc"): "kv_transfer_params",
        ("sglang", "http"): "bootstrap",
        ("sglang", "grpc"): "bootstrap",
    }

    def listed(self, endpoint: Endpoint, role: Role) -> int:
        return endpoint.ranks if given(role, "dp-aware") and endpoint.wire == "sglang" else 1


ADAPTER = Smg()
