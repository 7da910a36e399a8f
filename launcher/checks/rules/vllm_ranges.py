"""vLLM: numbers that its parser takes and its configuration then refuses (`vllm/config/*.py`, fields with bounds)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf
from typing import NamedTuple

from launcher.checks.case import Case
from launcher.checks.rules.said import code, said, since
from launcher.checks.rules.vllm_parallel import VLLM
from launcher.text.diagnostic import Diagnostic


class Range(NamedTuple):
    """Numbers from `least` to `most`, those included unless they are `above` or `below`; from version 0.`since` on."""

    least: float = -inf
    most: float = inf
    above: bool = False
    below: bool = False
    since: int = 11

    def has(self, number: float) -> bool:
        """Whether the number is in it."""
        low = number > self.least if self.above else number >= self.least
        return low and (number < self.most if self.below else number <= self.most)

    def __str__(self) -> str:
        least = f"more than {self.least:g}" if self.above else f"{self.least:g} or more"
        if self.most == inf:
            return least
        return f"{least} and {f'less than {self.most:g}' if self.below else f'at most {self.most:g}'}"


_SHARE = Range(0, 1, above=True)
_ONE = Range(1)
_NONE = Range(0)

RANGES: Mapping[str, Range] = {
    "gpu-memory-utilization": _SHARE,
    "kv-cache-metrics-sample": _SHARE,
    "watermark": Range(0, 1, below=True),
    "max-num-seqs": _ONE,
    "max-num-batched-tokens": _ONE,
    "max-num-active-seqs": _ONE,
    "max-num-partial-prefills": _ONE,
    "max-long-partial-prefills": _ONE,
    "prefill-schedule-interval": _ONE,
    "stream-interval": _ONE,
    "dp-sync-interval": _ONE,
    "max-parallel-loading-workers": _ONE._replace(since=27),
    "max-num-queued-reqs": _NONE,
    "max-num-queued-tokens": _NONE,
    "swap-space": _NONE,
    "cpu-offload-gb": _NONE,
    "long-prefill-token-threshold": _NONE._replace(since=27),
    "prefix-cache-retention-interval": _NONE,
    "block-size": Range(0, above=True, since=27),
    "mamba-block-size": Range(0, above=True),
    "prefix-match-unit": Range(0, above=True),
    "replayssm-buffer-len": Range(0, above=True),
    "max-logprobs": Range(-1, since=27),
    "max-model-len": Range(-1, since=15),
}
"""Flag → numbers that it takes, in all versions from 0.`since` on that have the flag and a catalogue."""


def vllm_range(case: Case) -> Iterator[Diagnostic]:
    """A number is outside of what vLLM takes

    vLLM's parser takes any number, and the server ends when its configuration is made: a share is a part of 1, not
    per cent, and a count is at least 1. `max-model-len` is 1 or more, or -1 or `auto` for what fits.
    Source: vLLM 0.11 to 0.33 `config/cache.py`, `config/scheduler.py`, `config/model.py` and others; for 0 as
    `max-model-len`, 0.27 `config/model.py:888` and on.

        flags = { gpu-memory-utilization = 0.9, max-num-seqs = 256 }        # not 90, not 0
    """
    for one in said(case, VLLM):
        for name, wanted in RANGES.items():
            value = one.value(name)
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float)
                or not since(one.catalogue, 0, wanted.since)
            ):
                continue
            empty = name == "max-model-len" and value == 0 and since(one.catalogue, 0, 27)
            if wanted.has(value) and not empty:
                continue
            takes = "1 or more, or -1 for what fits" if name == "max-model-len" else str(wanted)
            part = wanted is _SHARE and 2 <= value <= 100
            help_ = f"write {value / 100:g}: it is a part of 1" if part else f"write a number that is {takes}"
            finding = one.finding(code(vllm_range), f"`{one.key(name)}` wants {takes}, not {value}", name, help_)
            yield replace(finding, place=one.role.place(*one.at(name)))


RULES = (vllm_range,)
