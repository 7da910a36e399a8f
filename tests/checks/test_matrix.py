"""Layouts that cannot work: each is refused by its code, at the word that makes it so (between « and »)."""

from pathlib import Path

import pytest

from launcher.text.report import concise
from tests.checks.casefile import Case

HEAD = 'schema = 1\nname = "r"\nmodel = { path = "/m", served_name = "tiny" }\ndefaults.gpus = 8\n'
SITE = 'schema = 1\nname = "site"\nscheduler = "local"\nnode = { gpus = 8 }\n'

VLLM = 'manifest = "vllm", flags = { tp = 8 }'
GRPC = 'manifest = "vllm", flags = { tp = 8, grpc = true }'
SGLANG = 'manifest = "sglang", flags = { tp-size = 8 }'
UNEVEN = 'manifest = "sglang", flags = { tp-size = 8, «dp-size» = 3, enable-dp-attention = true }'
TRTLLM = 'manifest = "trtllm", config = { tensor_parallel_size = 8 }'
CACHE = '{ kv_connector = "LMCacheConnectorV1", kv_role = "kv_both" }'
STRANGE = f'manifest = "vllm", flags = {{ tp = 8, kv-transfer-config = {CACHE} }}'
NIXL = 'kv = "nixl"'


def one(worker: str, router: str = "", more: str = "") -> str:
    """Workers that serve whole requests, behind a router."""
    return f"roles.worker = {{ {worker} }}\n" + (f"router = {{ kind = {router}{more} }}\n" if router else "")


def two(prefill: str, decode: str, router: str = "") -> str:
    """Prefill and decode, behind a router."""
    return f"roles.prefill = {{ {prefill} }}\nroles.decode = {{ {decode} }}\n" + (
        f"router = {{ kind = {router} }}\n" if router else ""
    )


REFUSED = {
    "direct, two workers": ("router-missing", one(f"{VLLM}, replicas = «2»")),
    "direct, halves": (
        "router-missing",
        two(f"{VLLM}, {NIXL}", f"{VLLM}, {NIXL}").replace("decode = {", "decode = «{»"),
    ),
    "direct, gRPC": ("public-port-not-http", one(GRPC.replace("flags", "«flags»"))),
    "vllm-router, SGLang": ("engine-not-routed", one(SGLANG, '«"vllm-router"»')),
    "vllm-router, TensorRT-LLM": ("engine-not-routed", one(TRTLLM, '«"vllm-router"»')),
    "vllm-router, gRPC": ("engine-not-routed", one(GRPC, '«"vllm-router"»')),
    "vllm-router, its number of ranks": (
        "owned-flag",
        one(VLLM, '"vllm-router"', ", flags = { «intra-node-data-parallel-size» = 2 }"),
    ),
    "vllm-router, a rank by hand": ("owned-flag", one(VLLM.replace("tp", "«data-parallel-rank»"), '"vllm-router"')),
    "sglang-router, vLLM": ("engine-not-routed", one(VLLM, '«"sglang-router"»')),
    "sglang-router, uneven attention": ("sglang-attention", one(UNEVEN, '"sglang-router"')),
    "smg, halves of vLLM over HTTP": ("handoff-lost", two(f"{VLLM}, {NIXL}", f"{VLLM}, {NIXL}", '«"smg"»')),
    "smg, one half over gRPC": ("handoff-lost", two(f"{GRPC}, {NIXL}", f"{VLLM}, {NIXL}", '«"smg"»')),
    "smg, halves of TensorRT-LLM": ("handoff-lost", two(TRTLLM, TRTLLM, '«"smg"»')),
    "smg, TensorRT-LLM over gRPC": ("engine-not-routed", one(f"{TRTLLM}, flags = {{ grpc = true }}", '«"smg"»')),
    "smg, two engines": ("engines-mixed", two(SGLANG, f"{GRPC}, {NIXL}".replace('"vllm"', '«"vllm"»'), '"smg"')),
    "smg, its Prometheus port": ("owned-flag", one(VLLM, '"smg"', ", flags = { «prometheus-port» = 29000 }")),
    "llm-d, SGLang": ("engine-not-routed", one(SGLANG, '«"llm-d"»')),
    "llm-d, gRPC": ("engine-not-routed", one(GRPC, '«"llm-d"»')),
    "llm-d, two pickers": ("not-alone", one(VLLM, '"llm-d"') + "roles.epp.replicas = «2»\n"),
    "llm-d, a connector of no sidecar": (
        "connector-not-handed",
        two(STRANGE, STRANGE.replace("{ kv_connector", "«{» kv_connector"), '"llm-d"'),
    ),
    "llm-d, another protocol of the sidecar": (
        "owned-flag",
        two(f"{VLLM}, {NIXL}", f"{VLLM}, {NIXL}", '"llm-d"')
        + 'roles.sidecar.flags = { «kv-connector» = "mooncake" }\n',
    ),
    "llm-d, events that nobody hears": ("events-half", one(f"{VLLM}, «kv_events» = true", '"llm-d"')),
    "a half beside whole requests": (
        "modes-mixed",
        one(VLLM, '"vllm-router"').replace("worker", "«worker»") + f"roles.decode = {{ {VLLM}, {NIXL} }}\n",
    ),
}


@pytest.mark.parametrize("layout", REFUSED)
def test_a_layout_that_cannot_work_is_refused_where_it_says_so(layout: str, tmp_path: Path) -> None:
    code, marked = REFUSED[layout]
    before, _, rest = (HEAD + marked).partition("«")
    files = {"recipe.toml": before + rest.replace("»", ""), "site.toml": SITE}
    told = concise(Case("recipe.toml --cluster ./site.toml", files, "").run(tmp_path))
    row, column = before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1
    assert f"recipe.toml:{row}:{column}: error[{code}]: " in told, told
