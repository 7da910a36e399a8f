"""Suggestions: near words are found, unrelated ones are not offered."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.text.suggest import FINDINGS, Suggestions, distance, nearest

FLAGS = (
    "tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "data-parallel-rank", "max-model-len",
    "max-num-seqs", "max-num-batched-tokens", "gpu-memory-utilization", "kv-cache-dtype", "enable-prefix-caching",
    "enable-chunked-prefill", "disable-log-stats", "disable-retries", "quantization", "served-model-name", "policy",
    "prefill-policy", "decode-policy", "port", "host", "seed", "dtype", "trust-remote-code", "reasoning-parser",
)  # fmt: skip
KEYS = ("schema", "name", "model", "mode", "roles", "router", "defaults", "variants", "ready", "ports", "gpus", "cpus")

CASES: list[tuple[str, tuple[str, ...], str | None]] = [
    ("tensor-paralel-size", FLAGS, "tensor-parallel-size"),
    ("tensor_parallel_size", FLAGS, "tensor-parallel-size"),
    ("TensorParallelSize", FLAGS, "tensor-parallel-size"),
    ("--max-model-len", FLAGS, "max-model-len"),
    ("max-model-lenght", FLAGS, "max-model-len"),
    ("max-num-seq", FLAGS, "max-num-seqs"),
    ("polcy", FLAGS, "policy"),
    ("plicy", FLAGS, "policy"),
    ("quantisation", FLAGS, "quantization"),
    ("kv-cache-type", FLAGS, "kv-cache-dtype"),
    ("enable-chunk-prefill", FLAGS, "enable-chunked-prefill"),
    ("gpu-memory", FLAGS, "gpu-memory-utilization"),
    ("size-tensor-parallel", FLAGS, "tensor-parallel-size"),
    ("model-served-name", FLAGS, "served-model-name"),
    ("disable-metrics", FLAGS, None),
    ("data-parallel", FLAGS, "data-parallel-rank"),
    ("mem-fraction-static", FLAGS, None),
    ("max", FLAGS, None),
    ("foo", FLAGS, None),
    ("", FLAGS, None),
    ("-", FLAGS, None),
    ("modle", KEYS, "model"),
    ("modell", KEYS, "model"),
    ("gpu", KEYS, "gpus"),
    ("GPUS", KEYS, "gpus"),
    ("default", KEYS, "defaults"),
    ("schema", KEYS, None),
    ("partion", ("partition", "account"), "partition"),
    ("parton", ("partition", "account"), None),
    ("quantiation", FLAGS, "quantization"),
    ("tp", ("pp", "dp", "ep"), None),
    ("tp", ("tcp", "http"), None),
    ("TP", ("tp", "pp"), "tp"),
    ("broker", ("worker",), None),
    ("smgg", ("sim", "smg"), "smg"),
    ("anything", (), None),
]


@pytest.mark.parametrize(("word", "known", "expected"), CASES, ids=[row[0] or "empty" for row in CASES])
def test_nearest(word: str, known: tuple[str, ...], expected: str | None) -> None:
    assert nearest(word, known) == nearest(word, known[::-1]) == nearest(word, iter(known)) == expected


def slow(one: str, other: str) -> int:
    """The textbook's optimal string alignment distance."""
    if not one or not other:
        return len(one) + len(other)
    best = min(
        slow(one[:-1], other) + 1, slow(one, other[:-1]) + 1, slow(one[:-1], other[:-1]) + (one[-1] != other[-1])
    )
    if one[-2:] == other[-2:][::-1] and len(one) > 1 and len(other) > 1:
        best = min(best, slow(one[:-2], other[:-2]) + 1)
    return best


@given(st.text("abc", max_size=5), st.text("abc", max_size=5), st.integers(0, 5))
def test_distance(one: str, other: str, limit: int) -> None:
    assert distance(one, other, limit) == distance(other, one, limit) == min(slow(one, other), limit + 1)


@given(st.sampled_from(FLAGS), st.integers(0, 30), st.sampled_from("xq-"), st.sampled_from(["add", "drop", "swap"]))
def test_one_slip_is_mended(flag: str, at: int, letter: str, slip: str) -> None:
    at %= len(flag)
    rest = flag[at:]
    changed = {"add": letter + rest, "drop": rest[1:], "swap": rest[1:2] + rest[:1] + rest[2:]}[slip]
    word = flag[:at] + changed
    assert nearest(word, FLAGS) == (None if word in FLAGS else flag)


@pytest.mark.parametrize(("known", "expected"), [(("abcz", "abcy", "abcxy"), "abcxy"), (("abcz", "abcy"), "abcy")])
def test_equally_near_words_are_chosen_by_letters_in_common_then_alphabet(
    known: tuple[str, ...], expected: str
) -> None:
    assert {nearest("abcx", order) for order in permutations(known)} == {expected}


def test_budget() -> None:
    suggestions = Suggestions()
    told = [suggestions.nearest("polcy", FLAGS) for _ in range(FINDINGS + 5)]
    assert told == ["policy"] * FINDINGS + [None] * 5
    assert Suggestions(limit=0).nearest("polcy", FLAGS) is None
