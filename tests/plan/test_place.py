from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.model.job import Role
from launcher.plan.place import Layout, Seat, place
from tests.jobs import manifest, role

BOX = manifest()
NOTHING = manifest("nothing", program={})


def box(name: str, gpus: int = 0, replicas: int = 1, on: str | None = None) -> Role:
    return role(name, BOX, gpus=gpus, replicas=replicas, on=on)


def where(layout: Layout) -> list[str]:
    """`role-index@nodes:gpus`, one a seat."""
    return [
        f"{s.role}-{s.index}@{','.join(map(str, s.nodes))}" + (f":{s.gpus[0]}-{s.gpus[-1]}" if s.gpus else "")
        for s in layout.seats
    ]


@pytest.mark.parametrize(
    ("roles", "gpus", "seats", "nodes", "idle"),
    [
        ([box("worker")], 0, ["worker-0@0"], 1, 0),
        ([], 4, [], 0, 0),
        ([box("a"), box("b")], 4, ["a-0@0", "b-0@0"], 1, 4),
        ([box("w", 4, 2), box("r")], 4, ["w-0@0:0-3", "w-1@1:0-3", "r-0@0"], 2, 0),
        ([box("w", 8, 2)], 4, ["w-0@0,1:0-3", "w-1@2,3:0-3"], 4, 0),
        # Small replicas fill what earlier ones left, a large one takes fresh nodes.
        (
            [box("p", 3), box("d", 8), box("s", 1, 3)],
            4,
            ["p-0@0:0-2", "d-0@1,2:0-3", "s-0@0:3-3", "s-1@3:0-0", "s-2@3:1-1"],
            4,
            2,
        ),
        ([box("w", 2, 3)], 4, ["w-0@0:0-1", "w-1@0:2-3", "w-2@1:0-1"], 2, 2),
        # Beside the first replica of a role, whatever the order they are written in.
        (
            [box("etcd", on="d"), box("p", 4), box("d", 4, 2)],
            4,
            ["etcd-0@1", "p-0@0:0-3", "d-0@1:0-3", "d-1@2:0-3"],
            3,
            0,
        ),
        (
            [box("a", on="b"), box("b", on="c"), box("c", 4), box("x", 4)],
            4,
            ["a-0@0", "b-0@0", "c-0@0:0-3", "x-0@1:0-3"],
            2,
            0,
        ),
        # Dedicated nodes come after the shared ones; replicas of one role share theirs.
        ([box("etcd", on="dedicated", replicas=2), box("w", 4)], 4, ["etcd-0@1", "etcd-1@1", "w-0@0:0-3"], 2, 4),
        ([box("w", 2, 3, on="dedicated"), box("r")], 4, ["w-0@1:0-1", "w-1@1:2-3", "w-2@2:0-1", "r-0@0"], 3, 6),
        ([box("w", 4, on="dedicated"), box("r", on="w")], 4, ["w-0@0:0-3", "r-0@0"], 1, 0),
        # What is pinned to the head's GPUs chooses first.
        ([box("w", 3), box("r", 2, on="head")], 4, ["w-0@1:0-2", "r-0@0:0-1"], 2, 3),
        ([box("w", 1), box("r", 1, 2, on="w")], 4, ["w-0@0:0-0", "r-0@0:1-1", "r-1@0:2-2"], 1, 1),
    ],
)
def test_seats(roles, gpus, seats, nodes, idle):
    layout = place(roles, gpus)
    assert not layout.faults
    assert where(layout) == seats
    assert (layout.nodes, layout.idle) == (nodes, idle)


def test_a_role_without_a_command_gets_no_seat_and_needs_no_node():
    layout = place([box("w", 4, on="dedicated"), role("router", NOTHING)], 4)
    assert layout.seats == (Seat("w", 0, (0,), (0, 1, 2, 3)),)
    assert layout.nodes == 1


@pytest.mark.parametrize(
    ("roles", "gpus", "limit", "faults"),
    [
        ([box("w", 6)], 4, None, [("gpus-not-whole-nodes", "w", ("gpus",))]),
        ([box("w", 1)], 0, None, [("node-has-no-gpus", "w", ("gpus",))]),
        ([box("w", 4, 3)], 4, 2, [("too-few-nodes", "w", ("replicas",))]),
        ([box("w"), box("etcd", on="dedicated")], 0, 1, [("too-few-nodes", "etcd", ("on",))]),
        ([box("w", 3), box("r", 2, on="w")], 4, None, [("no-room-beside", "r", ("on",))]),
        ([box("r", on="nosuch")], 4, None, [("unknown-placement", "r", ("on",))]),
        ([box("q", on="r"), box("r", on="nosuch")], 4, None, [("unknown-placement", "r", ("on",))]),
        ([box("r", on="r")], 4, None, [("unknown-placement", "r", ("on",))]),
        (
            [box("a", on="b"), box("b", on="a")],
            4,
            None,
            [("unknown-placement", "a", ("on",)), ("unknown-placement", "b", ("on",))],
        ),
        # One fault for each cause: what is placed beside a role that has no seat is not blamed.
        ([box("w", 6), box("r", on="w")], 4, None, [("gpus-not-whole-nodes", "w", ("gpus",))]),
        ([box("w", 6), box("p", 5)], 4, None, [("gpus-not-whole-nodes", n, ("gpus",)) for n in "wp"]),
    ],
)
def test_faults(roles, gpus, limit, faults):
    found = place(roles, gpus, limit).faults
    assert [(fault.kind, fault.role, fault.path) for fault in found] == faults
    assert all(fault.message and fault.help for fault in found)


def test_help_names_the_numbers_that_fit():
    (fault,) = place([box("w", 10)], 4).faults
    assert "8 or 12" in fault.help


@st.composite
def floors(draw) -> tuple[list[Role], int]:
    """Roles that can be placed."""
    node = draw(st.integers(1, 8))
    sizes = st.one_of(st.integers(0, node), st.integers(1, 4).map(lambda n: n * node))
    roles: list[Role] = []
    for number in range(draw(st.integers(1, 6))):
        gpus = draw(sizes)
        beside = [None, "dedicated"] + ([] if gpus else ["head", *(each.name for each in roles)])
        roles.append(box(f"r{number}", gpus, draw(st.integers(1, 5)), draw(st.sampled_from(beside))))
    return draw(st.permutations(roles)), node


@given(floors())
def test_replicas_never_share_a_gpu_and_gpus_add_up(floor):
    roles, node = floor
    layout = place(roles, node)
    assert not layout.faults
    taken = [(n, gpu) for seat in layout.seats for n in seat.nodes for gpu in seat.gpus]
    assert len(taken) == len(set(taken)) == sum(each.gpus * each.replicas for each in roles)
    assert layout.idle == layout.nodes * node - len(taken)
    assert all(0 <= n < layout.nodes and 0 <= gpu < node for n, gpu in taken)
    assert [(s.role, s.index) for s in layout.seats] == [(r.name, i) for r in roles for i in range(r.replicas)]


@given(floors())
def test_no_node_is_empty_and_dedicated_nodes_are_the_role_s_own(floor):
    roles, node = floor
    layout = place(roles, node)
    assert {n for seat in layout.seats for n in seat.nodes} == set(range(layout.nodes))
    names = {each.name: each for each in roles}
    for seat in layout.seats:
        for other in layout.seats:
            if names[seat.role].on == "dedicated" and other.role != seat.role and set(seat.nodes) & set(other.nodes):
                assert _beside(names, other.role) == seat.role


def _beside(names: Mapping[str, Role], name: str) -> str:
    """The role at the end of a chain of `on`."""
    while (on := names[name].on) in names:
        name = str(on)
    return name
