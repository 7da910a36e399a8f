"""Prometheus text, and the book of requests under the names each engine uses.

Names and labels: vLLM 0.32.0 (`vllm/v1/metrics/loggers.py`), SGLang 0.5.23
(`sglang/srt/observability/metrics_collector.py`). `sim:` names are our own and the same for both.
"""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

Labels = tuple[tuple[str, str], ...]
Kind = Literal["counter", "gauge", "histogram"]
BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Seconds."""


def labels(values: Mapping[str, str]) -> Labels:
    """`values` in a fixed order."""
    return tuple(sorted(values.items()))


@dataclass
class Family:
    """All samples of one metric. A histogram's sample is its counts by bucket, the sum and the count."""

    name: str
    kind: Kind
    about: str
    values: dict[Labels, float] = field(default_factory=dict)
    seen: dict[Labels, list[float]] = field(default_factory=dict)


class Registry:
    """Metrics that may be changed and written from several threads."""

    def __init__(self) -> None:
        self._families: dict[str, Family] = {}
        self._lock = threading.Lock()

    def declare(self, name: str, kind: Kind, about: str) -> None:
        """Make a metric known; without samples only its head lines are written."""
        self._families[name] = Family(name, kind, about)

    def add(self, name: str, at: Labels, value: float = 1.0) -> None:
        """Add to a counter or gauge."""
        with self._lock:
            values = self._families[name].values
            values[at] = values.get(at, 0.0) + value

    def observe(self, name: str, at: Labels, value: float) -> None:
        """One observation of a histogram."""
        with self._lock:
            row = self._families[name].seen.setdefault(at, [0.0] * (len(BUCKETS) + 2))
            for index, edge in enumerate(BUCKETS):
                row[index] += value <= edge
            row[-2] += value
            row[-1] += 1

    def value(self, name: str, at: Labels) -> float:
        """The present value of a counter or gauge."""
        with self._lock:
            return self._families[name].values.get(at, 0.0)

    def text(self) -> str:
        """Everything in the text exposition format 0.0.4."""
        with self._lock:
            return "".join(line + "\n" for family in self._families.values() for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {family.about}"
    yield f"# TYPE {family.name} {family.kind}"
    for at, value in family.values.items():
        yield f"{family.name}{_braces(at)} {value}"
    for at, row in family.seen.items():
        for edge, count in zip(BUCKETS, row, strict=False):
            yield f"{family.name}_bucket{_braces((*at, ('le', str(edge))))} {count}"
        yield f"{family.name}_bucket{_braces((*at, ('le', '+Inf')))} {row[-1]}"
        yield f"{family.name}_sum{_braces(at)} {row[-2]}"
        yield f"{family.name}_count{_braces(at)} {row[-1]}"


def _braces(at: Labels) -> str:
    if not at:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in at) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


@dataclass(frozen=True)
class Names:
    """What one engine calls the things that are counted."""

    gauges: tuple[str, ...]
    running: str
    prompt: str
    generated: str
    done: str
    aborted: str
    first: str
    whole: str
    fetched: str


VLLM = Names(
    gauges=("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"),
    running="vllm:num_requests_running",
    prompt="vllm:prompt_tokens_total",
    generated="vllm:generation_tokens_total",
    done="vllm:request_success_total",
    aborted="vllm:request_success_total",
    first="vllm:time_to_first_token_seconds",
    whole="vllm:e2e_request_latency_seconds",
    fetched="vllm:external_prefix_cache_hits_total",
)
SGLANG = Names(
    gauges=("sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:num_used_tokens", "sglang:token_usage"),
    running="sglang:num_running_reqs",
    prompt="sglang:prompt_tokens_total",
    generated="sglang:generation_tokens_total",
    done="sglang:num_requests_total",
    aborted="sglang:num_aborted_requests_total",
    first="sglang:time_to_first_token_seconds",
    whole="sglang:e2e_request_latency_seconds",
    fetched="sglang:cached_tokens_total",
)
TRTLLM = Names(
    gauges=("trtllm_num_requests_running", "trtllm_kv_cache_utilization"),
    running="trtllm_num_requests_running",
    prompt="trtllm_prompt_tokens_total",
    generated="trtllm_generation_tokens_total",
    done="trtllm_request_success_total",
    aborted="trtllm_request_success_total",
    first="trtllm_time_to_first_token_seconds",
    whole="trtllm_e2e_request_latency_seconds",
    fetched="trtllm_kv_cache_hits_total",
)
_OWN = {
    "sim:recomputed_requests_total": "Requests whose prompt was computed here although another worker should have.",
    "sim:handed_over_requests_total": "Requests whose prompt was computed by another worker and fetched from it.",
    "sim:prefilled_requests_total": "Requests whose prompt was computed here for another worker.",
}


class Book:
    """Counts the requests of one worker. `ranks` are the labels of its data-parallel ranks."""

    def __init__(self, names: Names, worker: str, model: str, ranks: range, engine_type: str | None) -> None:
        """`engine_type` is SGLang's label (`unified`, `prefill`, `decode`); None for vLLM's labels."""
        self.registry = Registry()
        self._names = names
        self._own = labels({"worker": worker})
        self._model = model
        self._type = engine_type
        self._many = len(ranks) > 1
        for gauge in names.gauges:
            self.registry.declare(gauge, "gauge", "State of the simulated engine.")
        for counter in (names.prompt, names.generated, names.done, names.aborted, names.fetched):
            self.registry.declare(counter, "counter", "Count of the simulated engine.")
        for histogram in (names.first, names.whole):
            self.registry.declare(histogram, "histogram", "Seconds, as the simulated engine spent them.")
        for name, about in _OWN.items():
            self.registry.declare(name, "counter", about)
            self.registry.add(name, self._own, 0)
        for rank in ranks:
            self._zero(rank)

    def started(self, rank: int) -> None:
        """A request is in work on `rank`."""
        self.registry.add(self._names.running, self._labels(rank))

    def ended(self, rank: int) -> None:
        """A request is no longer in work on `rank`, however it ended."""
        self.registry.add(self._names.running, self._labels(rank), -1)

    def first(self, rank: int, seconds: float, stream: bool) -> None:
        """The first token of a request took `seconds`."""
        self.registry.observe(self._names.first, self._request(rank, stream), seconds)

    def done(self, rank: int, reason: str, seconds: float, stream: bool) -> None:
        """A request ended: `reason` is vLLM's (`stop`, `length`, `abort`); SGLang tells `abort` from all others."""
        if self._type is None:
            self.registry.add(self._names.done, labels({**dict(self._labels(rank)), "finished_reason": reason}))
        elif reason == "abort":
            self.registry.add(self._names.aborted, self._plain())
            return
        else:
            self.registry.add(self._names.done, self._request(rank, stream))
        self.registry.observe(self._names.whole, self._request(rank, stream), seconds)

    def tokens(self, rank: int, prompt: int, generated: int, stream: bool) -> None:
        """Tokens read and written for a request."""
        self.registry.add(self._names.prompt, self._request(rank, stream), prompt)
        self.registry.add(self._names.generated, self._request(rank, stream), generated)

    def prefilled(self) -> None:
        """A prompt was computed for another worker."""
        self.registry.add("sim:prefilled_requests_total", self._own)

    def recomputed(self) -> None:
        """A prompt was computed here although a hand-over was due."""
        self.registry.add("sim:recomputed_requests_total", self._own)

    def handed_over(self, rank: int, tokens: int) -> None:
        """A prompt of `tokens` was fetched from another worker."""
        self.registry.add("sim:handed_over_requests_total", self._own)
        at = self._labels(rank) if self._type is None else labels({**dict(self._plain()), "cache_source": "total"})
        self.registry.add(self._names.fetched, at, tokens)

    def running(self, rank: int) -> int:
        """Requests in work on `rank`."""
        return int(self.registry.value(self._names.running, self._labels(rank)))

    def _labels(self, rank: int) -> Labels:
        """Labels of what belongs to a rank."""
        if self._type is None:
            return labels({"model_name": self._model, "engine": str(rank)})
        ranks = {"tp_rank": "0", "pp_rank": "0", "moe_ep_rank": "0"}
        if self._many:
            ranks["dp_rank"] = str(rank)
        return labels({**dict(self._plain()), **ranks})

    def _plain(self) -> Labels:
        return labels({"model_name": self._model, "engine_type": self._type or ""})

    def _request(self, rank: int, stream: bool) -> Labels:
        """Labels of what belongs to a request: SGLang counts those in its front end, which has no ranks."""
        if self._type is None:
            return self._labels(rank)
        return labels({**dict(self._plain()), "is_streaming": "true" if stream else "false"})

    def _zero(self, rank: int) -> None:
        """Show every counter of every rank from the start, as vLLM does; routers count the `engine` labels they see."""
        for gauge in self._names.gauges:
            self.registry.add(gauge, self._labels(rank), 0)
        if self._type is not None:
            return
        for counter in (self._names.prompt, self._names.generated, self._names.fetched):
            self.registry.add(counter, self._labels(rank), 0)
        for reason in ("stop", "length", "abort", "error"):
            self.registry.add(self._names.done, labels({**dict(self._labels(rank)), "finished_reason": reason}), 0)
