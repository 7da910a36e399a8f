"""vLLM: how ranks, nodes and load balancing go together (`vllm/config/parallel.py`, `entrypoints/cli/serve.py`)."""

from collections.abc import Iterator

from launcher.checks.case import Case
from launcher.checks.rules.said import Said, code, said
from launcher.text.diagnostic import Diagnostic

VLLM = "vllm"
_MODES = (
    "data-parallel-rank",
    "data-parallel-external-lb",
    "data-parallel-hybrid-lb",
    "data-parallel-multi-port-external-lb",
)
_EXECUTORS = ("mp", "uni", "external_launcher")


def vllm_load_balancing(case: Case) -> Iterator[Diagnostic]:
    """Load is balanced over vLLM's ranks in one way only

    Internal is the default; `data-parallel-hybrid-lb`, `data-parallel-multi-port-external-lb`, and
    `data-parallel-external-lb` or `data-parallel-rank` are others, and the server ends when it is given two.
    Hybrid needs `data-parallel-size-local`, and is nothing for a headless node; external is one rank a server,
    of more than one. Sources: vLLM 0.33 `entrypoints/cli/serve.py:83-107`, `engine/arg_utils.py:2380-2526`; 0.11 on.

        flags = { data-parallel-hybrid-lb = true, data-parallel-rank = 0 }
    """
    for one in said(case, VLLM):
        given = [name for name in _MODES if (one.value(name) is not None if name.endswith("rank") else one.on(name))]
        # A rank is what external balancing gives each server: both are one mode.
        modes = [name for name in given if not (name.endswith("rank") and "data-parallel-external-lb" in given)]
        for name in modes[1:]:
            message = f"vLLM takes `{one.key(modes[0])}` or `{one.key(name)}`, not both"
            yield one.finding(code(vllm_load_balancing), message, name, "keep one of them", modes[0])
        if len(modes) == 1:
            yield from _balanced(one, modes[0])


def _balanced(one: Said, mode: str) -> Iterator[Diagnostic]:
    rule, key, local = code(vllm_load_balancing), one.key(mode), one.number("data-parallel-size-local", 0)
    size = one.number("data-parallel-size")
    if mode == "data-parallel-hybrid-lb":
        if one.on("headless"):
            yield one.finding(
                rule, f"`{key}` is nothing for a headless server", mode, "take one of them out", "headless"
            )
        if one.value("data-parallel-size-local") is None:
            help_ = "add `data-parallel-size-local`, the ranks of this node"
            yield one.finding(rule, f"`{key}` needs `data-parallel-size-local`", mode, help_)
    elif mode == "data-parallel-multi-port-external-lb":
        if local and (local < 2 or size % local):
            message = f"`{key}` wants 2 or more ranks on each node, the same on all: not {local} of {size}"
            help_ = "set `data-parallel-size-local` to a divisor of `data-parallel-size`, at least 2"
            yield one.finding(rule, message, "data-parallel-size-local", help_, mode)
    elif local > 1:
        message = f"with `{key}` a server has one rank, not {local}"
        yield one.finding(rule, message, "data-parallel-size-local", "set it to 1, or take it out", mode)
    elif size < 2 and one.on("data-parallel-external-lb"):
        yield one.finding(rule, f"`{key}` wants `data-parallel-size` above 1", mode, "set it, or take this out")


def vllm_headless(case: Case) -> Iterator[Diagnostic]:
    """A headless vLLM server has no API servers

    `headless` starts engines alone, on a node beside that of the API server: `api-server-count` above 0 ends it,
    and so does a node without ranks. With `api-server-count` below 1 a server is headless, and nobody can ask it.
    Source: vLLM 0.33 `entrypoints/cli/serve.py:63-75,185-210`; 0.11 on.

        flags = { headless = true, api-server-count = 2 }
    """
    for one in said(case, VLLM):
        count = one.number("api-server-count")
        if not one.on("headless"):
            if count < 1:
                message = f"with {count} API servers nobody can ask this one"
                yield one.finding(code(vllm_headless), message, "api-server-count", "use 1 or more, or take it out")
            continue
        if one.number("api-server-count", 0) > 0:
            message = "a headless server has no API servers, not " + str(one.number("api-server-count"))
            yield one.finding(code(vllm_headless), message, "api-server-count", "take it out", "headless")
        if one.value("data-parallel-size-local") == 0:
            message = "a headless server needs ranks of its own"
            help_ = "set it to the ranks of this node"
            yield one.finding(code(vllm_headless), message, "data-parallel-size-local", help_, "headless")


def vllm_ranks(case: Case) -> Iterator[Diagnostic]:
    """Ranks that vLLM's data parallelism does not have

    A node has at most all ranks, and ranks are numbered from 0. Source: vLLM 0.33 `config/parallel.py:545,1020`;
    0.11 on.

        flags = { data-parallel-size = 2, data-parallel-size-local = 4 }
    """
    for one in said(case, VLLM):
        size = one.number("data-parallel-size")
        local, rank = one.number("data-parallel-size-local", 0), one.number("data-parallel-rank", 0)
        if local > size:
            message = f"of {size} data-parallel rank{'s' * (size != 1)}, {local} cannot be on one node"
            help_ = "raise `data-parallel-size`, or lower `data-parallel-size-local`"
            yield one.finding(code(vllm_ranks), message, "data-parallel-size-local", help_, "data-parallel-size")
        if not 0 <= rank < size and one.value("data-parallel-size") is not None:
            message = f"there is no rank {rank} of {size}"
            help_ = f"ranks are 0 to {size - 1}"
            yield one.finding(code(vllm_ranks), message, "data-parallel-rank", help_, "data-parallel-size")


def vllm_context_parallel(case: Case) -> Iterator[Diagnostic]:
    """Decode context parallelism must divide tensor parallelism in vLLM

    It takes no GPUs of its own but shares those of the tensor-parallel ranks; with prefill context parallelism it is
    1, that, or all ranks of both. Source: vLLM 0.33 `config/parallel.py:595-606`; 0.20 `:473`.

        flags = { tensor-parallel-size = 4, decode-context-parallel-size = 3 }
    """
    for one in said(case, VLLM):
        tp, dcp = one.number("tensor-parallel-size"), one.number("decode-context-parallel-size")
        pcp = one.number("prefill-context-parallel-size")
        name = "decode-context-parallel-size"
        if pcp > 1 and dcp not in (1, pcp, tp * pcp):
            message = (
                f"decode context parallelism of {dcp} does not go with {pcp} for prefill and tensor parallelism {tp}"
            )
            yield one.finding(code(vllm_context_parallel), message, name, f"use 1, {pcp} or {tp * pcp}")
        elif pcp == 1 and dcp > 0 and tp % dcp:
            message = f"decode context parallelism of {dcp} does not divide tensor parallelism of {tp}"
            help_ = f"use a divisor of {tp}"
            yield one.finding(code(vllm_context_parallel), message, name, help_, "tensor-parallel-size")


def vllm_expert_balancing(case: Case) -> Iterator[Diagnostic]:
    """Experts are balanced only where vLLM spreads them

    `enable-eplb` needs `enable-expert-parallel` and more than one rank to spread them over; redundant experts need
    `enable-eplb`. Source: vLLM 0.33 `config/parallel.py:566-592`; 0.11 `:292-312`.

        flags = { enable-eplb = true, tensor-parallel-size = 8 }
    """
    for one in said(case, VLLM):
        rule = code(vllm_expert_balancing)
        ranks = one.number("tensor-parallel-size") * one.number("data-parallel-size")
        ranks *= one.number("prefill-context-parallel-size")
        if one.on("enable-eplb") and not one.on("enable-expert-parallel"):
            message = "balancing experts needs them spread over ranks"
            yield one.finding(rule, message, "enable-eplb", "add `enable-expert-parallel = true`")
        elif one.on("enable-eplb") and ranks < 2:
            message = "there is one rank: no experts to balance"
            yield one.finding(rule, message, "enable-eplb", "take it out, or add ranks")
        if one.table("eplb-config").get("num_redundant_experts") and not one.on("enable-eplb"):
            message = "redundant experts are there for balancing, which is off"
            help_ = "add `enable-eplb = true`"
            yield one.finding(rule, message, "eplb-config", help_, field="num_redundant_experts")


def vllm_nodes(case: Case) -> Iterator[Diagnostic]:
    """Ranks that do not spread evenly over vLLM's nodes

    With `nnodes` every node has as many ranks, `node-rank` is one of them, and executor and data parallelism are
    vLLM's own (`mp`). Source: vLLM 0.33 `engine/arg_utils.py:2390-2420`, `config/parallel.py:1112`; 0.11 on.

        flags = { nnodes = 3, tensor-parallel-size = 8 }
    """
    for one in said(case, VLLM):
        nodes, rule = one.number("nnodes"), code(vllm_nodes)
        names = (
            "data-parallel-size",
            "tensor-parallel-size",
            "pipeline-parallel-size",
            "prefill-context-parallel-size",
        )
        ranks = 1
        for name in names:
            ranks *= one.number(name)
        if nodes > 1 and ranks % nodes:
            message = f"{ranks} rank{'s' * (ranks != 1)} cannot be spread evenly over {nodes} nodes"
            yield one.finding(rule, message, "nnodes", f"use a divisor of {ranks}", *names)
        if not 0 <= one.number("node-rank", 0) < max(nodes, 1):
            message = f"there is no node {one.number('node-rank')} of {nodes}"
            yield one.finding(rule, message, "node-rank", f"nodes are 0 to {nodes - 1}", "nnodes")
        executor = one.value("distributed-executor-backend")
        if nodes > 1 and executor is not None and executor not in _EXECUTORS:
            message = f"`nnodes` does not go with the executor `{executor}`"
            yield one.finding(rule, message, "distributed-executor-backend", "use `mp`, or take it out", "nnodes")


RULES = (
    vllm_load_balancing,
    vllm_headless,
    vllm_ranks,
    vllm_context_parallel,
    vllm_expert_balancing,
    vllm_nodes,
)
