"""Adapters, one module a kind. `MODULES` is data: `execute` imports what a job needs."""

from collections.abc import Mapping

MODULES: Mapping[str, str] = {
    "plain": "launcher.roles.plain",
    "sim": "launcher.roles.sim",
    "direct": "launcher.roles.direct",
    "vllm": "launcher.roles.vllm",
    "sglang": "launcher.roles.sglang",
    "trtllm": "launcher.roles.trtllm",
    "smg": "launcher.roles.smg",
    "vllm-router": "launcher.roles.vllm_router",
    "sglang-router": "launcher.roles.sglang_router",
    "llm-d": "launcher.roles.llm_d.router",
    "epp": "launcher.roles.llm_d.epp",
    "envoy": "launcher.roles.llm_d.envoy",
    "pd-sidecar": "launcher.roles.llm_d.sidecar",
}
"""Adapter name → module that has it as `ADAPTER`."""

GROUP = "launcher.roles"
"""Entry-point group for adapters of other packages."""
