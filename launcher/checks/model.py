"""Audits of the model: what its `config.json` says, against how the engine is told to cut it.

Names of its keys are those that vLLM 0.33 looks for (`transformers_utils/config.py`, `CONFIG_FIELD_ALIASES`). Where a
file names nothing of the kind, or a flag changes what the file says, nothing is found.
"""

import json
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from launcher.checks.flagnames import engine
from launcher.checks.images import asking
from launcher.checks.rules.said import Said, since
from launcher.checks.rules.sglang import SGLANG
from launcher.checks.rules.trtllm import PROGRAM as TRTLLM
from launcher.checks.rules.vllm_parallel import VLLM
from launcher.model.facts import Answer, Facts, Model, Question
from launcher.model.given import EMPTY
from launcher.model.job import Job, Role
from launcher.plan.step import Plan
from launcher.run.record import record
from launcher.text.diagnostic import Diagnostic, Label, Place, Severity

Finding = Diagnostic | Question

_HEADS = ("num_attention_heads", "n_head", "num_heads")
_KV_HEADS = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups")
_LAYERS = ("num_hidden_layers", "n_layer", "num_layers")
_EXPERTS = ("num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")
_INNER = ("text_config", "llm_config", "language_config", "thinker_config", "decoder")
_CHANGED = ("hf-overrides", "hf-config-path", "config-format", "json-model-override-args")
_TP = {VLLM: "tensor-parallel-size", SGLANG: "tp-size", TRTLLM: "tensor_parallel_size"}
_PP = {VLLM: "pipeline-parallel-size", SGLANG: "pp-size", TRTLLM: "pipeline_parallel_size"}
_EP = {SGLANG: "ep-size", TRTLLM: "moe_expert_parallel_size"}
_EXTERNAL = "data-parallel-external-lb"


@record
class Served:
    """A role that serves the model, by the flags of its engine, and the part of the file that is about text."""

    job: Job
    role: Role
    program: str
    said: Said
    config: Mapping[str, Any]

    def number(self, names: tuple[str, ...]) -> int | None:
        """What the file says under the first of the names it has."""
        found = next((self.config[name] for name in names if self.config.get(name) is not None), None)
        found = found[0] if isinstance(found, list) and found else found
        return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else None

    @property
    def experts(self) -> int | None:
        """How many experts the model has, 0 for a dense one; None where nobody can tell."""
        found = self.number(_EXPERTS)
        return found if found is not None or _hints(self.config) else 0

    def size(self, names: Mapping[str, str]) -> int:
        """A size that the role gives its engine, 1 where it says none."""
        name = names.get(self.program, "")
        value = self.role.config.get(name) if self.program == TRTLLM else None
        return value if isinstance(value, int) and not isinstance(value, bool) else self.said.number(name)

    def place(self, name: str) -> Place:
        """Where the role says it."""
        inside = self.program == TRTLLM and name in self.role.config
        return self.role.place("config", name) if inside else self.role.place(*self.said.at(name))

    def finding(
        self, code: str, message: str, name: str, advice: str, severity: Severity = Severity.ERROR
    ) -> Diagnostic:
        """A finding at what the role says, with the model beside it."""
        label = Label(self.job.origins.place(("model", "path")), "the model")
        return Diagnostic(code, message, self.place(name), severity, labels=(label,), help=advice)


def model_absent(job: Job, plan: Plan, facts: Facts) -> Iterator[Finding]:
    """There is no model at the path

    Engines end at a folder that does not exist, or take its name for one of a model hub. This machine is asked where
    roles run on it; compute nodes where the cluster's alias says that only they see it:

        [models]
        m3 = { path = "/raid/models/m3", where = "compute" }
    """
    for question in dict.fromkeys(filter(None, (_question(job, plan, role) for role in _engines(job)))):
        answer = facts.get(question)
        if answer is None:
            yield question
        elif not answer.yes and (plan.batch is None or question.compute is not None):
            place = job.origins.place(("model", "path"))
            advice = "correct the path, or `--set model.path=/path/to/a/model`"
            yield Diagnostic("model-absent", f"`{question.path}` {answer.text}", place, help=advice)


def experts_absent(job: Job, plan: Plan, facts: Facts) -> Iterator[Finding]:
    """The model has no experts that could be spread

    `enable-expert-parallel` ends vLLM at a dense model, and so do a server for each data-parallel rank and, over nodes
    behind vllm-router, a server for each node. Replicas of the role do for a dense model what such ranks would.
    Sources: vLLM 0.32 and 0.33 `config/model.py`, `engine/arg_utils.py`; run with 0.32.
    """
    for one in (yield from _served(job, plan, facts)):
        if one.experts != 0 or one.program != VLLM:
            continue
        ranks = one.said.number("data-parallel-size")
        if one.said.on("enable-expert-parallel"):
            message = "`enable-expert-parallel` wants a model of experts, and this one has none"
            yield one.finding("experts-absent", message, "enable-expert-parallel", "take it out")
        several = [each for each in plan.endpoints if each.role == one.role.name and each.name.partition("-rank")[1]]
        if ranks > 1 and several:
            # Older versions have not been seen to refuse it.
            severity = Severity.ERROR if since(one.said.catalogue, 0, 32) else Severity.WARNING
            name = _EXTERNAL if one.said.on(_EXTERNAL) else "data-parallel-size"
            message = "several servers of one data-parallel replica want a model of experts, and this one has none"
            advice = f"take `{name}` out, and say `replicas = {ranks}` with the GPUs of one rank each"
            yield one.finding("experts-absent", message, name, advice, severity)


def heads_not_shared(job: Job, plan: Plan, facts: Facts) -> Iterator[Finding]:
    """The model's attention heads cannot be shared out over the ranks

    Each tensor-parallel rank has as many heads; with data-parallel attention those of a group share them. vLLM's decode
    context parallelism shares out what is left of a head of the KV cache.
    Sources: vLLM 0.33 `config/model.py` (verify_with_parallel_config), SGLang 0.5.23 `models/`, TensorRT-LLM 1.2
    `_torch/modules/attention.py`.
    """
    for one in (yield from _served(job, plan, facts)):
        heads, tp = one.number(_HEADS), one.size(_TP)
        ranks = max(tp // _groups(one), 1)
        if heads is not None and heads % ranks:
            message = f"{heads} attention heads of the model cannot be shared out over {ranks} ranks"
            yield one.finding("heads-not-shared", message, _TP[one.program], f"use a divisor of {heads}")
        elif heads is not None and one.program == VLLM:
            yield from _contexts(one, heads, tp)


def _contexts(one: Served, heads: int, tp: int) -> Iterator[Diagnostic]:
    """Decode context parallelism of a model whose KV cache has several heads."""
    name = "decode-context-parallel-size"
    size, kv = one.said.number(name), one.number(_KV_HEADS) or heads
    latent = any(one.config.get(key) for key in ("kv_lora_rank", "q_lora_rank"))
    if size < 2 or latent:
        return
    if tp <= kv or size > tp // kv or heads // kv % size:
        message = f"decode context parallelism of {size} does not go with {kv} heads of the KV cache over {tp} ranks"
        advice = f"take it out: of {heads} heads, {heads // kv} have one of the KV cache"
        yield one.finding("heads-not-shared", message, name, advice)


def layers_too_few(job: Job, plan: Plan, facts: Facts) -> Iterator[Finding]:
    """The model has fewer layers than there are pipeline stages

    A stage without a layer has nothing to compute. Layers need not be a multiple of the stages.
    """
    for one in (yield from _served(job, plan, facts)):
        layers, stages = one.number(_LAYERS), one.size(_PP)
        if layers is not None and stages > layers:
            message = f"{layers} layers of the model cannot be in {stages} stages"
            yield one.finding("layers-too-few", message, _PP[one.program], f"use at most {layers}")


def experts_not_shared(job: Job, plan: Plan, facts: Facts) -> Iterator[Finding]:
    """The model's experts cannot be shared out over the ranks

    Every rank of expert parallelism has as many experts, redundant ones counted. vLLM spreads what is left over
    unevenly where nothing balances them, and for some models (DeepSeek-V4) it does not: that is a warning.
    Sources: vLLM 0.20 and 0.33 `fused_moe/layer.py`, SGLang 0.5.9 and 0.5.23 `fused_moe_triton/layer.py`.
    """
    for one in (yield from _served(job, plan, facts)):
        ranks, experts, name = _spread(one), one.experts or 0, _EP.get(one.program, "enable-expert-parallel")
        if experts == 0 or ranks < 2:
            continue
        redundant = one.said.number("ep-num-redundant-experts", 0) if one.program == SGLANG else _redundant(one)
        rest = (experts + redundant) % ranks
        if ranks > experts + redundant:
            message = f"{experts} experts of the model are fewer than {ranks} ranks that are to have some"
            yield one.finding("experts-not-shared", message, name, "use fewer ranks")
        elif rest:
            firm = one.program != VLLM or one.said.on("enable-eplb")
            more = f" and {redundant} redundant ones" if redundant else ""
            message = f"{experts} experts of the model{more} are not shared out evenly over {ranks} ranks"
            severity = Severity.ERROR if firm else Severity.WARNING
            yield one.finding("experts-not-shared", message, name, f"use a divisor of {experts + redundant}", severity)


def _spread(one: Served) -> int:
    """Ranks of expert parallelism."""
    if one.program != VLLM:
        return one.size(_EP)
    names = ("tensor-parallel-size", "data-parallel-size", "prefill-context-parallel-size")
    found = 1
    for name in names if one.said.on("enable-expert-parallel") else ():
        found *= one.said.number(name)
    return found


def _redundant(one: Served) -> int:
    found = one.said.table("eplb-config").get("num_redundant_experts") if one.program == VLLM else 0
    return found if isinstance(found, int) else 0


def _groups(one: Served) -> int:
    """Groups of data-parallel attention, each of which shares out all heads."""
    if one.program == TRTLLM:
        return one.size(_TP) if one.role.config.get("enable_attention_dp") else 1
    if one.program == VLLM:
        return 1
    attention = one.said.number("attn-dp-size")
    groups = one.said.number("dp-size") if attention == 1 and one.said.on("enable-dp-attention") else attention
    return max(groups, 1) * max(one.said.number("attn-cp-size"), 1)


def _served(job: Job, plan: Plan, facts: Facts) -> Generator[Finding, None, list[Served]]:
    """Every engine's role with what is known of its model; asks where that is not known yet."""
    found = []
    for role in _engines(job):
        question = _question(job, plan, role)
        answer = None if question is None else facts.get(question)
        if question is not None and answer is None:
            yield question
        said = Said(role, role.catalogue or EMPTY)
        config = _read(answer)
        if config and not any(said.key(name) for name in _CHANGED):
            found.append(Served(job, role, _program(role), said, config))
    return found


def _engines(job: Job) -> Iterator[Role]:
    if not job.rehearsed:
        yield from (role for role in job.workers if _program(role) in _TP)


def _program(role: Role) -> str:
    return engine(role.manifest.program.name or "")


def _question(job: Job, plan: Plan, role: Role) -> Model | None:
    said = job.recipe.model.path
    path = None if said is None else job.cluster.model(said)
    if said is None or path is None or not path.startswith("/"):
        return None
    alias = job.cluster.models.get(said)
    there = plan.batch is not None and alias is not None and alias.where == "compute"
    return Model(_outside(job, role, path), asking(plan) if there else None)


def _outside(job: Job, role: Role, path: str) -> str:
    """The path on the host of what the role sees at `path`."""
    if job.cluster.runtime == "none":
        return path
    inside = [mount for mount in role.mounts if f"{path}/".startswith(f"{mount.target.rstrip('/')}/")]
    mount = max(inside, key=lambda each: len(each.target), default=None)
    return path if mount is None else mount.source.rstrip("/") + path[len(mount.target.rstrip("/")) :]


def _read(answer: Answer | None) -> Mapping[str, Any]:
    """The part of a `config.json` that is about text; empty where there is none."""
    try:
        found = json.loads(answer.text) if answer is not None and answer.yes and answer.text else {}
    except (ValueError, RecursionError):
        return {}
    while isinstance(found, dict):
        inner = next((found[name] for name in _INNER if isinstance(found.get(name), dict)), None)
        if inner is None:
            return found
        found = inner
    return {}


def _hints(config: Mapping[str, Any]) -> bool:
    """Whether a file that has none of the known keys still speaks of experts."""
    return any(word in json.dumps(config).casefold() for word in ("expert", "moe"))
