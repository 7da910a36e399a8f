"""SGLang: how sizes and modes go together (`srt/arg_groups/validation_hook.py`, before 0.5.23 `srt/server_args.py`)."""

from collections.abc import Iterator

from launcher.checks.case import Case
from launcher.checks.rules.said import Said, code, said, since
from launcher.text.diagnostic import Diagnostic

SGLANG = "sglang"


def sglang_pages(case: Case) -> Iterator[Diagnostic]:
    """SGLang prefills whole pages

    `chunked-prefill-size` must be a multiple of `page-size`, but on a decode worker and where it is off. Attention
    data parallelism divides it first. Source: SGLang 0.5.23 `validation_hook.py:231`, 0.5.5 `server_args.py:3723`.

        flags = { page-size = 64, chunked-prefill-size = 8192 }
    """
    for one in said(case, SGLANG):
        page, chunk = one.number("page-size"), one.number("chunked-prefill-size", 0)
        chunk //= max(_attention(one), 1)
        if chunk > 0 and page > 0 and one.value("disaggregation-mode") != "decode" and chunk % page:
            message = f"prefill of {chunk} tokens at a time is not whole pages of {page}"
            help_ = f"use a multiple of {page * max(_attention(one), 1)}"
            yield one.finding(code(sglang_pages), message, "chunked-prefill-size", help_, "page-size")


def _attention(one: Said) -> int:
    """Groups of attention data parallelism: their flag has changed its name, `dp-size` has changed its meaning."""
    groups = one.number("attn-dp-size")
    return one.number("dp-size") if groups == 1 and one.on("enable-dp-attention") else groups


def sglang_attention(case: Case) -> Iterator[Diagnostic]:
    """SGLang's attention data parallelism must divide its tensor parallelism

    Its groups are part of the tensor-parallel ranks: up to 0.5.16 `dp-size` with `enable-dp-attention`, from 0.5.23
    `attn-dp-size`, which does not go with `dp-size` above 1, now the number of replicas.
    Source: SGLang 0.5.23 `parallel_hook.py:162,285-326`, 0.5.5 `server_args.py:1381`.

        flags = { tp-size = 8, dp-size = 3, enable-dp-attention = true }
    """
    for one in said(case, SGLANG):
        tp, groups = one.number("tp-size"), _attention(one)
        name = "attn-dp-size" if one.number("attn-dp-size") > 1 else "dp-size"
        if groups > 1 and tp % groups:
            message = f"{groups} groups of attention do not divide tensor parallelism of {tp}"
            yield one.finding(code(sglang_attention), message, name, f"use a divisor of {tp}", "tp-size")
        if one.number("attn-dp-size") > 1 and one.number("dp-size") > 1:
            message = "`attn-dp-size` does not go with several replicas"
            yield one.finding(code(sglang_attention), message, "attn-dp-size", "keep one of them", "dp-size")


def sglang_nodes(case: Case) -> Iterator[Diagnostic]:
    """Ranks that do not spread evenly over SGLang's nodes

    Every node has as many tensor- and pipeline-parallel ranks, `node-rank` is one of them, and replicas
    (`dp-size` without attention data parallelism) are on one node.
    Source: SGLang 0.5.23 `validation_hook.py:179,199`, 0.5.5 `server_args.py:3688-3698`.

        flags = { tp-size = 8, nnodes = 3 }
    """
    for one in said(case, SGLANG):
        nodes, ranks = one.number("nnodes"), one.number("tp-size") * one.number("pp-size")
        if nodes > 1 and ranks % nodes:
            message = f"{ranks} rank{'s' * (ranks != 1)} cannot be spread evenly over {nodes} nodes"
            help_ = f"use a divisor of {ranks}"
            yield one.finding(code(sglang_nodes), message, "nnodes", help_, "tp-size", "pp-size")
        if not 0 <= one.number("node-rank", 0) < max(nodes, 1):
            message = f"there is no node {one.number('node-rank')} of {nodes}"
            yield one.finding(code(sglang_nodes), message, "node-rank", f"nodes are 0 to {nodes - 1}", "nnodes")
        if nodes > 1 and one.number("dp-size") > 1 and _attention(one) == 1:
            message = "replicas inside one SGLang server cannot span nodes"
            help_ = "use data-parallel attention, or replicas of the role"
            yield one.finding(code(sglang_nodes), message, "dp-size", help_, "nnodes")


def sglang_experts(case: Case) -> Iterator[Diagnostic]:
    """SGLang's experts are spread over all tensor-parallel ranks

    With expert parallelism, that times `moe-dp-size` is the tensor parallelism; `moe-dense-tp-size` is 1 or all of
    it. Source: SGLang 0.5.23 `validation_hook.py:205`, 0.5.9 `server_args.py:2094-2107,5150`.

        flags = { tp-size = 8, ep-size = 4, moe-dp-size = 2 }
    """
    for one in said(case, SGLANG):
        tp, ep, copies = one.number("tp-size"), one.number("ep-size"), one.number("moe-dp-size")
        if copies > 1 and ep > 1 and ep * copies != tp:
            message = f"{ep} times {copies} ranks of experts are not the {tp} tensor-parallel ranks"
            yield one.finding(code(sglang_experts), message, "ep-size", f"their product must be {tp}", "moe-dp-size")
        dense = one.value("moe-dense-tp-size")
        allowed = (1, tp) if since(one.catalogue, 0, 5, 16) else (1,)
        if isinstance(dense, int) and dense not in allowed:
            message = f"dense layers can have {' or '.join(map(str, dict.fromkeys(allowed)))} ranks, not {dense}"
            yield one.finding(code(sglang_experts), message, "moe-dense-tp-size", "change it, or take it out")


def sglang_name(case: Case) -> Iterator[Diagnostic]:
    """SGLang keeps the colon in a model's name for adapters

    `model:adapter` asks for an adapter, so `served-model-name` may have none.
    Source: SGLang 0.5.23 `validation_hook.py:211`; 0.5.9 on.

        flags = { served-model-name = "llama-8b" }
    """
    for one in said(case, SGLANG):
        name = one.value("served-model-name")
        if isinstance(name, str) and ":" in name and since(one.catalogue, 0, 5, 9):
            message = f"the name `{name}` has a colon, by which SGLang knows adapters"
            yield one.finding(code(sglang_name), message, "served-model-name", "use another character")


def sglang_transfer(case: Case) -> Iterator[Diagnostic]:
    """An SGLang prefill worker must really hand over

    `fake` is for measuring decode alone. Source: SGLang 0.5.23 `pd_disaggregation_hook.py:146`.

        flags = { disaggregation-mode = "prefill", disaggregation-transfer-backend = "mooncake" }
    """
    for one in said(case, SGLANG):
        fake = one.value("disaggregation-transfer-backend") == "fake"
        if fake and (one.value("disaggregation-mode") == "prefill" or one.role.mode == "prefill"):
            message = "a prefill worker cannot hand over to `fake`"
            help_ = "use `mooncake` or `nixl`, on both sides"
            yield one.finding(code(sglang_transfer), message, "disaggregation-transfer-backend", help_)


RULES = (sglang_pages, sglang_attention, sglang_nodes, sglang_experts, sglang_name, sglang_transfer)
