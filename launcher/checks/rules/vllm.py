"""vLLM: flags that need or exclude one another (`entrypoints/common/cli_args.py`, `config/vllm.py`)."""

from collections.abc import Iterator
from dataclasses import replace

from launcher.checks.case import Case
from launcher.checks.rules.said import code, marked, said, since
from launcher.checks.rules.vllm_parallel import VLLM
from launcher.roles.vllm_kv import connectors
from launcher.text.diagnostic import Diagnostic, Label

_ALLOCATORS = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
_EXPANDABLE = "expandable_segments:True"
_SPECULATION = {"spec-method": "method", "spec-model": "model", "spec-tokens": "num_speculative_tokens"}


def vllm_tool_choice(case: Case) -> Iterator[Diagnostic]:
    """A parser is needed where vLLM calls tools by itself

    `enable-auto-tool-choice` ends the server where `tool-call-parser` is not given.
    Source: vLLM 0.33 `entrypoints/common/cli_args.py:553`; 0.11 on.

        flags = { enable-auto-tool-choice = true, tool-call-parser = "hermes" }
    """
    for one in said(case, VLLM):
        if one.on("enable-auto-tool-choice") and not one.value("tool-call-parser"):
            message = "`enable-auto-tool-choice` needs a parser for the model's tool calls"
            help_ = 'add `tool-call-parser = "…"`'
            yield one.finding(code(vllm_tool_choice), message, "enable-auto-tool-choice", help_)


def vllm_logging(case: Case) -> Iterator[Diagnostic]:
    """What vLLM logs of answers and requests goes together

    Outputs are logged with requests, and metrics of requests come from the statistics.
    Source: vLLM 0.33 `entrypoints/common/cli_args.py:555,565`; 0.11 on.

        flags = { enable-log-outputs = true, enable-log-requests = true }
    """
    for one in said(case, VLLM):
        if one.on("enable-log-outputs") and not one.on("enable-log-requests"):
            message = "`enable-log-outputs` needs `enable-log-requests`"
            yield one.finding(code(vllm_logging), message, "enable-log-outputs", "add `enable-log-requests = true`")
        if one.on("enable-per-request-metrics") and one.on("disable-log-stats"):
            message = "metrics of each request need the statistics that `disable-log-stats` switches off"
            others = ("disable-log-stats",)
            yield one.finding(code(vllm_logging), message, "enable-per-request-metrics", "keep one of them", *others)


def vllm_speculation(case: Case) -> Iterator[Diagnostic]:
    """One thing of vLLM's speculation is said twice

    `spec-method`, `spec-model` and `spec-tokens` are fields of `speculative-config`; the server ends when both say
    the same field. Source: vLLM 0.33 `engine/arg_utils.py:2100-2125`.

        flags = { spec-method = "ngram", speculative-config = { method = "mtp" } }
    """
    for one in said(case, VLLM):
        for name, field in _SPECULATION.items():
            if one.value(name) is not None and field in one.table("speculative-config"):
                message = f"`{name}` and `{field}` of `speculative-config` exclude each other"
                yield one.finding(code(vllm_speculation), message, name, "keep one of them", "speculative-config")


def vllm_numa(case: Case) -> Iterator[Diagnostic]:
    """NUMA nodes are bound to only where vLLM is told to bind

    `numa-bind-nodes` and `numa-bind-cpus` need `numa-bind`. Source: vLLM 0.20 `config/parallel.py:437-442` and on.

        flags = { numa-bind = true, numa-bind-nodes = [0, 1] }
    """
    for one in said(case, VLLM):
        for name in ("numa-bind-nodes", "numa-bind-cpus"):
            if one.value(name) is not None and not one.on("numa-bind"):
                yield one.finding(code(vllm_numa), f"`{name}` needs `numa-bind`", name, "add `numa-bind = true`")


def vllm_offloading(case: Case) -> Iterator[Diagnostic]:
    """KV offloading takes the place of a KV connector in vLLM

    `kv-offloading-size` sets `kv_connector` and `kv_role` of `kv-transfer-config` itself, whatever they were: a
    prefill or decode worker would hand nothing over, without a word. The offloading connector alone needs to be
    told a size. Source: vLLM 0.33 `config/vllm.py:1151-1185`, `v1/kv_offload/cpu/spec.py:97`; 0.15 on.

        flags = { kv-offloading-size = 8, kv-transfer-config = { kv_connector = "NixlConnector", kv_role = "kv_both" } }
    """
    for one in said(case, VLLM):
        table = one.table("kv-transfer-config")
        connector = next(iter(connectors(one)), None)
        if connector is None or not since(one.catalogue, 0, 15):
            continue
        sized = one.value("kv-offloading-size") is not None
        if sized and connector != "OffloadingConnector":
            message = f"`kv-offloading-size` takes the place of the connector `{connector}`"
            help_ = "use `MultiConnector` with both, or take one out"
            finding = one.finding(code(vllm_offloading), message, "kv-offloading-size", help_, "kv-transfer-config")
            label = Label(one.role.place("kv", part="key"), "that is this")
            yield marked(finding, label) if one.role.kv else finding
        extra = table.get("kv_connector_extra_config")
        size = extra.get("cpu_bytes_to_use") if isinstance(extra, dict) else None
        if connector == "OffloadingConnector" and not sized and not size:
            message = "the offloading connector is told no size"
            help_ = "add `kv-offloading-size` in GiB, or `cpu_bytes_to_use` to `kv_connector_extra_config`"
            yield one.finding(code(vllm_offloading), message, "kv-transfer-config", help_, field="kv_connector")


def vllm_allocator(case: Case) -> Iterator[Diagnostic]:
    """A KV connector cannot have memory that moves

    With `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` the pages under a KV cache may change, and what a
    connector has registered of it points nowhere: vLLM ends, but for `enable-cumem-allocator` and
    `enable-sleep-mode`, whose memory stays. Older versions start, and transfers fail; so do all where PyTorch is told
    by its newer name, `PYTORCH_ALLOC_CONF`, which vLLM does not look at.
    Source: vLLM 0.33 `config/vllm.py:1268-1305`; 0.27 on.
    """
    for one in said(case, VLLM):
        connector = next(iter(connectors(one)), None)
        name = next((each for each in _ALLOCATORS if _EXPANDABLE in one.role.env.get(each, "")), None)
        if not connector or name is None or one.on("enable-cumem-allocator") or one.on("enable-sleep-mode"):
            continue
        message = f"the connector `{connector}` cannot register memory that `{_EXPANDABLE}` moves"
        help_ = f"take `{_EXPANDABLE}` out of `{name}`"
        finding = one.finding(code(vllm_allocator), message, "kv-transfer-config", help_, field="kv_connector")
        if one.role.kv:
            finding = replace(finding, place=one.role.place("kv", part="key"))
        yield marked(finding, Label(one.role.place("env", name), "set here"))


RULES = (vllm_tool_choice, vllm_logging, vllm_speculation, vllm_numa, vllm_offloading, vllm_allocator)
