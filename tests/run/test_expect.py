"""The evaluator of gates, as a table."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.run.expect import Sample, same, samples, unmet, unmet_gauge
from launcher.run.script import Expect

WORKERS = {
    "workers": [
        {"url": "a", "worker_type": "prefill", "is_healthy": True, "labels": {"tier": 1}},
        {"url": "b", "worker_type": "prefill", "is_healthy": False, "labels": {"tier": 1}},
        {"url": "c", "worker_type": "decode", "is_healthy": True, "labels": {"tier": 2}},
    ],
    "stats": {"prefill_count": 2, "a.b": "dotted"},
    "names": ["x", "y"],
    "ready": True,
    "none": None,
}

JSON: list[tuple[Expect, str | None]] = [
    (Expect(), None),
    (Expect("workers"), None),
    (Expect("none"), None),
    (Expect("nothing"), "`nothing` is not in the answer"),
    (Expect("stats.prefill_count.x"), "`stats.prefill_count.x` is not in the answer"),
    (Expect("workers", count=3), None),
    (Expect("workers", count=2), "`workers` has 3, wanted 2"),
    (Expect("workers", count=0), "`workers` has 3, wanted 0"),
    (Expect("stats", count=2), None),
    (Expect("ready", count=1), "`ready` has no items, wanted 1"),
    (Expect("workers", count=2, where={"is_healthy": True}), None),
    (Expect("workers", count=2, where={"is_healthy": 1}), "`workers` where is_healthy = 1 has 0, wanted 2"),
    (Expect("workers", count=1, where={"worker_type": "prefill", "is_healthy": True}), None),
    (Expect("workers", count=2, where={"labels.tier": 1}), None),
    (Expect("workers", count=0, where={"worker_type": "regular"}), None),
    (Expect("workers", where={"worker_type": "decode"}), None),
    (Expect("workers", where={"url": "z"}), '`workers` where url = "z": there is none'),
    (Expect("stats", where={"url": "z"}), "`stats` is no list"),
    (Expect("stats.prefill_count", equals=2), None),
    (Expect("stats.prefill_count", equals=3), "`stats.prefill_count` is 2, wanted 3"),
    (Expect("stats.a.b", equals="dotted"), None),
    (Expect("ready", equals=True), None),
    (Expect("ready", equals=1), "`ready` is true, wanted 1"),
    (Expect("ready", equals="true"), '`ready` is true, wanted "true"'),
    (Expect("names", equals=["x", "y"]), None),
    (Expect("names.1", equals="y"), None),
    (Expect("names.2", equals="y"), "`names.2` is not in the answer"),
    (Expect("workers.2.url", equals="c"), None),
    (Expect("names", has="y"), None),
    (Expect("names", has="z"), '`names` is ["x", "y"], wanted "z" in it'),
    (Expect("ready", has=True), "`ready` is true, wanted true in it"),
    (Expect("names", has="x", count=2), None),
    (Expect("names", has="x", count=3), "`names` has 2, wanted 3"),
]


@pytest.mark.parametrize(("expect", "why"), JSON, ids=str)
def test_json(expect: Expect, why: str | None) -> None:
    assert unmet(expect, WORKERS) == why


def test_the_whole_body() -> None:
    assert unmet(Expect("", equals="ok"), "ok") is None
    assert unmet(Expect("", count=2), [1, 2]) is None
    assert unmet(Expect("", equals="ok"), ["x" * 200]) == f'the body is ["{"x" * 115}..., wanted "ok"'


TEXT = """\
# HELP pool_size workers
# TYPE pool_size gauge
pool_size{worker_type="prefill",pool="a"} 2
pool_size{worker_type="decode", pool="a",} 3 1395066363000
pool_size{worker_type="say \\"hi\\"\\n\\\\"} 1e0
up 1
nothing_yet NaN
broken {
broken{a="b} 1
broken one
"""

GAUGES: list[tuple[Expect, str | None]] = [
    (Expect("up"), None),
    (Expect("up", equals=1), None),
    (Expect("up", equals=2), "`up` is [1.0], wanted 2"),
    (Expect("down"), "`down` is not in the answer"),
    (Expect("down", count=0), None),
    (Expect("broken"), "`broken` is not in the answer"),
    (Expect("pool_size", count=3), None),
    (Expect("pool_size", equals=2), "`pool_size` is [2.0, 3.0, 1.0], wanted 2"),
    (Expect("pool_size", has=3), None),
    (Expect("pool_size", has=4), "`pool_size` is [2.0, 3.0, 1.0], wanted 4 in it"),
    (Expect("pool_size", equals=2, where={"worker_type": "prefill"}), None),
    (Expect("pool_size", count=2, where={"pool": "a"}), None),
    (Expect("pool_size", equals=1, where={"worker_type": 'say "hi"\n\\'}), None),
    (
        Expect("pool_size", equals=2, where={"worker_type": "regular"}),
        '`pool_size`{worker_type="regular"} is not in the answer',
    ),
    (Expect("nothing_yet", equals=0), "`nothing_yet` is [NaN], wanted 0"),
]


@pytest.mark.parametrize(("expect", "why"), GAUGES, ids=str)
def test_gauge(expect: Expect, why: str | None) -> None:
    assert unmet_gauge(expect, samples(TEXT)) == why


def test_labels_of_other_types_are_compared_as_text() -> None:
    found = [Sample("a", {"rank": "0", "up": "true"}, 1.0)]
    assert unmet_gauge(Expect("a", where={"rank": 0, "up": True}), found) is None


values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=3),
    max_leaves=8,
)


@given(values, values)
def test_equality_is_that_of_json(one: Any, other: Any) -> None:
    assert same(one, other) == (json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True))


@given(values, st.text("ab.012", max_size=5), st.none() | st.integers(0, 3), values, values)
def test_whatever_a_server_answers_is_judged(body: Any, at: str, count: int | None, equals: Any, has: Any) -> None:
    why = unmet(Expect(at, equals, count, has), body)
    assert why is None or why.startswith(("`", "the body"))
