import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.roles.base import Net, Replica
from launcher.roles.placeholder import NAMES, fill, unknown, values
from launcher.run.script import ref
from tests.jobs import manifest, role, shipped

NET = Net((), (), 8000, "router", "tiny", "/models/tiny")
REPLICA = Replica(role("worker"), 2, "worker-2", (4, 5), (), {"http": 6100})


def test_what_each_stands_for():
    look = values(REPLICA, NET, 1)
    assert {name: look(name) for name in [*NAMES, "port.http"]} == {
        "python": ref("python"),
        "ip": ref("ip", 5),
        "host": ref("host", 5),
        "rank": "1",
        "replica": "2",
        "model": "/models/tiny",
        "served_name": "tiny",
        "public": "8000",
        "workers_file": f"{ref('run')}/workers.json",
        "run": ref("run"),
        "port.http": "6100",
    }
    assert look("port.nosuch") is look("nosuch") is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a{x}b{x}", "a1b1"),
        ("{port.http}", "2"),
        ("{y}", "{y}"),
        ('{"x": {x}}', '{"x": 1}'),
        ("${X} {X} {} {x:y} { x }", "${X} {X} {} {x:y} { x }"),
        (["{x}", {"{x}": "{x}"}, 3, None], ["1", {"{x}": "1"}, 3, None]),
    ],
)
def test_fill(value, expected):
    assert fill(value, {"x": "1", "port.http": "2"}.get) == expected


@given(st.text())
def test_values_are_not_searched_again(text):
    assert fill("{x}", {"x": text, "y": "no"}.get) == text


def test_unknown_placeholders_with_their_paths():
    made = manifest(
        program={"command": ["{python}", "{pyton}", "{port.http} {port.htp}"]},
        ports={"http": {"base": 1}},
        gates=[
            {"kind": "http", "url": "http://{ip}:{port.http}/{nosuch}"},
            {
                "kind": "http",
                "url": "x",
                "expect": [{"at": "a", "where": {"id": "{model}", "n": [1, "{who}"]}, "count": 1}],
            },
        ],
    )
    found = [
        (("program", "command", 1), "pyton"),
        (("program", "command", 2), "port.htp"),
        (("gates", 0, "url"), "nosuch"),
        (("gates", 1, "expect", 0, "where", "n", 1), "who"),
    ]
    assert list(unknown(made)) == found
    assert list(unknown(made, model=False)) == [
        *found[:3],
        (("gates", 1, "expect", 0, "where", "id"), "model"),
        found[3],
    ]


@pytest.mark.parametrize("name", ["sim", "smg", "direct"])
def test_shipped_manifests_have_none(name):
    assert not list(unknown(shipped(name)))
