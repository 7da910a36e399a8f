"""What a node tells of itself, and why it may not do."""

import json
import socket
from pathlib import Path

import pytest

from launcher.run import facts, files, prepare
from launcher.run.script import Allocation, Node, Script, dump


def wanted(run: Path, *nodes: Node, interface: str = "lo") -> None:
    told = Allocation(("true",), nodes, ("true",), ("true",), ("true",), interface=interface)
    run.mkdir(exist_ok=True)
    (run / prepare.SCRIPT).write_text(dump(Script("x", (), (), allocation=told)))
    prepare.meet(str(run), {}, ["a", "b"])


def test_a_node_looks_at_its_own_ports_and_paths(tmp_path: Path) -> None:
    with socket.socket() as busy, socket.socket() as other:
        for listener in (busy, other):
            listener.bind(("127.0.0.1", 0))
            listener.listen()
        port = busy.getsockname()[1]
        other.close()
        free = other_port(port)
        wanted(tmp_path, Node(), Node(ports=(port, free), paths=(str(tmp_path), "/no/such")))
        told = facts.look(str(tmp_path), {"SLURMD_NODENAME": "b", "SLURM_NODEID": "0", "CUDA_VISIBLE_DEVICES": "0,1"})
    assert (told["node"], told["ip"], told["busy"], told["missing"]) == ("b", "127.0.0.1", [port], ["/no/such"])
    assert told["gpus"] == "0,1"
    assert told["cpus"] >= 1
    assert told["error"] is None


def other_port(taken: int) -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    assert port != taken
    return port


def test_an_interface_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    wanted(tmp_path, Node(), Node(), interface="hsn9")
    told = facts.look(str(tmp_path), {"SLURMD_NODENAME": "a"})
    assert told["ip"] is None
    assert told["error"].startswith("interface `hsn9` does not exist (there are ")
    assert "lo" in told["error"]


def test_a_run_directory_the_node_does_not_see(tmp_path: Path) -> None:
    told = facts.look(str(tmp_path / "nowhere"), {"SLURMD_NODENAME": "a"})
    assert "No such file" in told["error"]


def test_one_line_of_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted(tmp_path, Node(), Node())
    assert facts.main([str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    assert json.loads(lines[0])["python"].startswith("3.")


OK = {"node": "n1", "ip": "10.0.0.1", "busy": [], "missing": [], "gpus": "0,1,2,3", "arch": "aarch64"}


@pytest.mark.parametrize(
    ("changed", "gpus", "said"),
    [
        ({}, 4, []),
        ({"gpus": ""}, 0, []),
        ({"gpus": "0,1,2,3,4"}, 4, []),
        ({"busy": [8000, 8001]}, 0, ["port 8000 of n1 is in use", "port 8001 of n1 is in use"]),
        ({"busy": [8000], "runs": {"8000": "small-1"}}, 0, ["port 8000 of n1 is in use by the run `small-1`"]),
        ({"arch": "x86_64"}, 0, ["n1 is x86_64, the cluster file says aarch64"]),
        ({"gpus": "2,3"}, 2, ["n1 shows GPUs 2,3 to a step, 2 numbered from 0 are wanted"]),
        ({"gpus": ""}, 4, ["n1 shows no GPUs to a step, 4 numbered from 0 are wanted"]),
        ({"error": "interface `x` does not exist"}, 0, ["n1: interface `x` does not exist"]),
    ],
)
def test_faults(changed: dict[str, object], gpus: int, said: list[str]) -> None:
    assert facts.faults({**OK, **changed}, "aarch64", gpus) == said


def test_a_path_that_several_nodes_miss_is_said_once() -> None:
    told = [{**OK, "node": name, "missing": missing} for name, missing in (("n1", ["/a", "/b"]), ("n2", ["/a"]))]
    assert facts.absent([*told, OK]) == ["`/a` does not exist on n1, n2", "`/b` does not exist on n1"]


def test_any_machine_will_do_where_none_is_named() -> None:
    assert facts.faults(OK, "", 0) == []


def test_what_is_met_binds_the_script(tmp_path: Path) -> None:
    wanted(tmp_path, Node())
    files.write(str(tmp_path / prepare.SLOTS), files.as_json({"run": str(tmp_path), "id": "x"}))
    prepare.meet(str(tmp_path), {"job": "7"}, ["n1"], [OK])
    assert prepare.slots(str(tmp_path)) == {"run": str(tmp_path), "id": "x", "job": "7"}
    assert prepare.hosts(str(tmp_path)) == ["n1"]
