"""Shepherd Model Gateway in front of vLLM, SGLang or TensorRT-LLM.

Facts: smg 1.11 and 1.13. In prefill/decode it hands the KV cache over by SGLang's bootstrap, and for vLLM over gRPC
alone: vLLM over HTTP answers 200 while decode recomputes every prompt. With `--dp-aware` it lists every data-parallel
rank of SGLang workers; of vLLM workers over HTTP it cannot tell them.

Over gRPC it makes tokens itself, by the tokenizer that the worker hands it: TensorRT-LLM's gRPC (1.3.0rc7,
`grpc/trtllm_service.proto`) hands out none and names the model by its path, so that every request is answered with
`tokenizer_load_failed` (1.13, before such a service).

In prefill/decode over gRPC 1.13 answers 504 (`prefill_worker_silent`) to a request whose prefill has produced nothing
for `--worker-wedge-secs`, 3 unless told or what it reckons the prompts in work to take. A queue or the first request
of an engine takes longer, and 1.11 waited; 0 has 1.13 wait too (seen before simulated workers that take 6 s; over HTTP,
and in aggregate, none of this happens).
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from launcher.model.job import Role
from launcher.roles.base import Endpoint, Handoff
from launcher.roles.command import given
from launcher.roles.router import Kind, Router

_PATIENCE = "worker-wedge-secs"


class Smg(Router):
    """Workers over HTTP, and those of vLLM and SGLang over gRPC."""

    serves: ClassVar[frozenset[Kind]] = frozenset(
        [
            ("vllm", "http"),
            ("vllm", "grpc"),
            ("sglang", "http"),
            ("sglang", "grpc"),
            ("trtllm", "http"),
        ]
    )
    hands_over: ClassVar[Mapping[Kind, Handoff]] = {
        ("vllm", "grpc"): "kv_transfer_params",
        ("sglang", "http"): "bootstrap",
        ("sglang", "grpc"): "bootstrap",
    }

    def own(self, role: Role, endpoints: tuple[Endpoint, ...]) -> tuple[str, ...]:
        handing = any(each.mode != "aggregate" and each.scheme == "grpc" for each in endpoints)
        has = role.catalogue is not None and role.catalogue.exactly(_PATIENCE) is not None
        return (f"--{_PATIENCE}=0",) if handing and has and given(role, _PATIENCE) is None else ()

    def entries(self, role: Role, endpoints: tuple[Endpoint, ...]) -> Iterator[Endpoint]:
        aware = given(role, "dp-aware") is not None
        for each in endpoints:
            yield from [each] * (each.ranks if aware and each.wire == "sglang" else 1)


ADAPTER = Smg()
