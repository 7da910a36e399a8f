import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.model.job import Role
from launcher.plan.order import order
from tests.jobs import manifest, role, router

ENGINE = manifest("engine", kind="engine")


def box(name: str, *after: str) -> Role:
    return role(name, manifest("box", after=list(after)))


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        # A router that says nothing waits for all workers, a service for nothing.
        (
            [role("prefill", ENGINE), role("decode", ENGINE), box("etcd"), router()],
            {"prefill": (), "decode": (), "etcd": (), "router": ("prefill", "decode")},
        ),
        (
            [
                role("worker", ENGINE),
                box("client", "router"),
                router(manifest("r", kind="router", after=["etcd"])),
                box("etcd"),
            ],
            {"worker": (), "client": ("router",), "router": ("etcd",), "etcd": ()},
        ),
        # The benchmark waits for everybody.
        (
            [role("worker", ENGINE), box("etcd"), router(), role("benchmark", manifest("load", kind="benchmark"))],
            {"worker": (), "etcd": (), "router": ("worker",), "benchmark": ("worker", "etcd", "router")},
        ),
        (
            [
                role("worker", manifest("e", kind="engine", after=["etcd"])),
                box("etcd"),
                box("late", "workers", "etcd", "worker"),
            ],
            {"worker": ("etcd",), "etcd": (), "late": ("worker", "etcd")},
        ),
    ],
)
def test_order(roles, expected):
    found = order(roles)
    assert found.after == expected
    assert not found.faults


@pytest.mark.parametrize(
    ("roles", "faults"),
    [
        ([box("a", "nosuch")], [("unknown-after", "a")]),
        ([box("a", "a")], [("circular-after", "a")]),
        ([box("a", "b"), box("b", "c"), box("c", "a")], [("circular-after", "c")]),
        ([role("worker", manifest("e", after=["router"])), router()], [("circular-after", "router")]),
    ],
)
def test_faults(roles, faults):
    found = order(roles).faults
    assert [(fault.kind, fault.role) for fault in found] == faults
    assert all(fault.message and fault.help for fault in found)


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=3), min_size=6, max_size=6))
def test_whatever_they_say_roles_can_be_started_one_after_another(waits):
    found = order([box(name, *after) for name, after in zip("abcdef", waits, strict=True)])
    started: set[str] = set()
    while len(started) < 6:
        ready = {name for name, after in found.after.items() if set(after) <= started} - started
        assert ready
        started |= ready
    kept = sum(map(len, found.after.values()))
    assert kept + len(found.faults) == sum(len(set(after)) for after in waits)
