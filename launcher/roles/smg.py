"""Shepherd Model Gateway in front of vLLM, SGLang or TensorRT-LLM.

Facts: smg 1.11 and 1.13. In prefill/decode it hands the KV cache over by SGLang's bootstrap, and for vLLM over gRPC
alone: vLLM over HTTP answers 200 while decode recomputes every prompt. With `--dp-aware` it lists every data-parallel
rank of SGLang workers; of vLLM workers over HTTP it cannot tell them.
"""

from collections.abc import Iterator, Mapping
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

    def entries(self, role: Role, endpoints: tuple[Endpoint, ...]) -> Iterator[Endpoint]:
        aware = given(role, "dp-aware") is not None
        for each in endpoints:
            yield from [each] * (each.ranks if aware and each.wire == "sglang" else 1)


ADAPTER = Smg()
