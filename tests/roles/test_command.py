import pytest

from launcher.model.catalogue import load
from launcher.model.job import Role
from launcher.roles.base import Endpoint, Net, Replica
from launcher.roles.command import flags, gates, given, program
from launcher.run.script import Expect, ref
from tests.jobs import ROOT, manifest, role, shipped

ENDPOINTS = tuple(Endpoint(f"w{n}", "w", f"http://{n}", "aggregate", "vllm", ranks=2) for n in range(3))
NET = Net(ENDPOINTS, (), 8000, "router", "tiny", None)
SMG = load((ROOT / "manifests/flags/smg/1.13.0.json").read_text(encoding="utf-8"))


def replica(made: Role) -> Replica:
    return Replica(made, 0, "r", (1,), (), {"http": 6100})


def test_program():
    made = role("w", manifest(program={"command": ["{python}", "-m", "x", "--at={ip}:{port.http}"]}))
    assert program(replica(made), NET) == (ref("python"), "-m", "x", f"--at={ref('ip', 1)}:6100")


def test_flags_are_the_user_s_to_the_byte():
    wanted = {"name": "{ip} $HOME 'x' \"y\"", "json": {"a": [1, "{b}"]}, "on": True, "many": ["a", "b c"]}
    assert flags(role("w", flags=wanted)) == (
        "--name={ip} $HOME 'x' \"y\"",
        '--json={"a":[1,"{b}"]}',
        "--on",
        "--many=a",
        "--many=b c",
    )


@pytest.mark.parametrize(
    ("catalogue", "wanted", "expected"),
    [
        (None, {}, None),
        (None, {"worker-startup-timeout-secs": 1}, "worker-startup-timeout-secs"),
        (SMG, {"worker-startup-timeout-secs": 1}, "worker-startup-timeout-secs"),
        (SMG, {"worker-startup-timeout": 1}, "worker-startup-timeout"),
        (SMG, {"worker-startup-check-interval": 1}, None),
        (SMG, {"nosuch": 1}, None),
    ],
)
def test_given_in_any_spelling_the_program_takes(catalogue, wanted, expected):
    assert given(role("w", flags=wanted, catalogue=catalogue), "worker-startup-timeout-secs") == expected


def test_gates_have_numbers_for_symbolic_counts():
    made = role("r", manifest(gates=[{
        "kind": "http",
        "url": "http://{ip}:{port.http}/workers",
        "status": 203,
        "expect": [
            {"at": "a", "equals": "workers"},
            {"at": "b", "where": {"id": "{served_name}", "role": "prefill"}, "count": "ranks"},
            {"at": "c", "has": "{served_name}"},
            {"at": "d", "equals": ["workers", "{served_name}"]},
            {"at": "e", "count": 7},
        ],
    }, {"kind": "complete", "url": "http://{ip}:{port.http}"}]))  # fmt: skip
    first, second = gates(replica(made), NET)
    assert (first.kind, first.url, first.status, first.model) == (
        "http",
        f"http://{ref('ip', 1)}:6100/workers",
        203,
        "",
    )
    assert first.expect == (
        Expect("a", equals=3),
        Expect("b", where={"id": "tiny", "role": "prefill"}, count=6),
        Expect("c", has="tiny"),
        Expect("d", equals=["workers", "tiny"]),
        Expect("e", count=7),
    )
    assert (second.kind, second.model) == ("complete", "tiny")


def test_the_router_s_gate_counts_workers_by_mode():
    made = role("router", shipped("smg"))
    net = Net((*ENDPOINTS, Endpoint("p", "p", "http://p", "prefill", "sglang")), (), 8000, "router", "tiny", None)
    (gate,) = gates(replica(made), net)
    assert [(each.at, each.where.get("worker_type"), each.equals, each.count) for each in gate.expect] == [
        ("stats.regular_count", None, 3, None),
        ("stats.prefill_count", None, 1, None),
        ("stats.decode_count", None, 0, None),
        ("workers", None, None, 4),
        ("workers", "regular", None, 3),
        ("workers", "prefill", None, 1),
        ("workers", "decode", None, 0),
    ]
