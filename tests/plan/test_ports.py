import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.model.manifest import Port
from launcher.model.recipe import Ports
from launcher.plan.place import Seat
from launcher.plan.ports import allocate, public


def seats(*text: str) -> list[Seat]:
    """`role@node`, one a seat."""
    return [Seat(role, index, (int(node),), ()) for index, (role, node) in enumerate(each.split("@") for each in text)]


HTTP = {"http": Port(base=6100, step=32)}


@pytest.mark.parametrize(
    ("ports", "expected"),
    [(Ports(), 8000), (Ports(shift=50), 8050), (Ports(public=9000, shift=50), 9000)],
)
def test_public(ports, expected):
    assert public(ports) == expected


@pytest.mark.parametrize(
    ("found", "wanted", "ports", "expected"),
    [
        # The public port for the front, then the first free one by step on each node.
        (seats("w@0", "w@0", "w@1", "r@0"), {"w": HTTP, "r": HTTP}, Ports(), [6100, 6132, 6100, 8000]),
        (seats("w@0", "r@0"), {"w": HTTP, "r": HTTP}, Ports(shift=7), [6107, 8007]),
        (seats("w@0", "r@0"), {"w": HTTP, "r": HTTP}, Ports(shift=7, public=80), [6107, 80]),
        # The public port is set aside before it is the front's turn.
        (seats("w@0", "w@1", "r@0"), {"w": {"http": Port(base=8000)}, "r": HTTP}, Ports(), [8001, 8000, 8000]),
        # Different roles with one base get different ports.
        (seats("a@0", "b@0", "r@0"), {"a": HTTP, "b": HTTP, "r": HTTP}, Ports(), [6100, 6132, 8000]),
        (
            seats("a@0", "b@0", "r@0"),
            {"a": {"http": Port(base=6132)}, "b": HTTP, "r": HTTP},
            Ports(),
            [6132, 6100, 8000],
        ),
    ],
)
def test_allocate(found, wanted, ports, expected):
    allocation = allocate(found, wanted, "r", ports)
    assert [each["http"] for each in allocation.ports] == expected
    assert not allocation.faults


def test_a_span_is_consecutive_and_all_its_own():
    spans = {"rpc": Port(base=100, span=3), "one": Port(base=101)}
    allocation = allocate(seats("w@0", "w@0", "r@1"), {"w": spans, "r": HTTP}, "r", Ports())
    assert allocation.ports[:2] == ({"rpc": 100, "one": 103}, {"rpc": 104, "one": 107})


def test_only_the_first_replica_of_the_front_has_the_public_port():
    allocation = allocate(seats("r@0", "r@0"), {"r": HTTP}, "r", Ports())
    assert [each["http"] for each in allocation.ports] == [8000, 6100]


def test_exhausted_ports_are_one_fault_a_port():
    wanted = {"w": {"http": Port(base=65000, step=500), "side": Port(base=65535, span=2)}, "r": HTTP}
    allocation = allocate(seats("w@0", "w@0", "w@0", "r@0"), wanted, "r", Ports())
    assert [(f.kind, f.role, f.path) for f in allocation.faults] == [("ports-exhausted", None, ("ports", "shift"))] * 2
    assert allocation.ports[0] == {"http": 65000}


@pytest.mark.parametrize("front", ["r", "nosuch"])
def test_a_front_needs_a_port(front):
    (fault,) = allocate(seats("r@0"), {"r": {}}, front, Ports()).faults
    assert (fault.kind, fault.role) == ("front-without-port", front)


PORT = st.builds(Port, base=st.integers(5990, 6010), step=st.integers(1, 40), span=st.integers(1, 5))
ROLES = st.dictionaries(st.sampled_from("abc"), st.dictionaries(st.sampled_from("xyz"), PORT, max_size=3))


@given(ROLES, st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), max_size=20), st.integers(5990, 6010))
def test_ports_on_a_node_are_never_shared(roles, chosen, entry):
    wanted = {**{name: {} for name in "abc"}, **roles, "front": {"http": Port(base=1)}}
    found = seats(*(f"{role}@{node}" for role, node in chosen), "front@0")
    allocation = allocate(found, wanted, "front", Ports(public=entry))
    taken = [
        (seat.nodes[0], port + offset)
        for seat, ports in zip(found, allocation.ports, strict=True)
        for name, port in ports.items()
        for offset in range(wanted[seat.role][name].span)
    ]
    assert len(taken) == len(set(taken))
    assert not allocation.faults
    assert [sorted(ports) for ports in allocation.ports] == [sorted(wanted[seat.role]) for seat in found]
    for seat, ports in zip(found[:-1], allocation.ports, strict=False):
        for name, port in ports.items():
            base = wanted[seat.role][name]
            assert (port - base.base) % base.step == 0


def test_ten_thousand_replicas_on_one_node_are_refused_without_a_long_search():
    wanted = {"w": HTTP, "r": HTTP}
    allocation = allocate(seats(*["w@0"] * 10_000, "r@0"), wanted, "r", Ports())
    assert [fault.kind for fault in allocation.faults] == ["ports-exhausted"]
    assert sum(map(bool, allocation.ports)) == (65535 - 6100) // 32 + 1 + 1
