"""Order, gates, budgets, first causes: real children on loopback."""

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from launcher.execute import local
from launcher.run.script import Budgets, Child, Expect, File, Gate, bind, load, ref
from tests.run.rig import HOST, IDLE, Rig, Watched, Web, child, port, python, script, server, shut, until

BUDGETS = Budgets(ready=0.5, stop=5.0)
FAILING = (
    "import sys\nprint('INFO no error yet')\nprint('ValueError: the cause')\nprint('Error: a consequence')\nsys.exit(3)"
)


def idle(name: str, **more: Any) -> Child:
    return child(name, ("sleep", "3600"), **more)


def test_steps_start_when_the_gates_they_wait_for_are_open(rig: Rig) -> None:
    number = port()
    watched = rig.start(
        script(
            server("router", port(), after=("worker", "prepare")),
            server("worker", number),
            child("prepare", ("sleep", "0.2"), lasting=False),
            ready=(Gate("tcp", f"http://{HOST}:{number}", every=0.02),),
        )
    )
    watched.event("ready")
    told = [(event["event"], event.get("step")) for event in watched.events() if event["event"] != "gate-shut"]
    place = {event: told.index(event) for event in told}
    assert place["start", "router"] > max(place["gate-open", "worker"], place["gate-open", "prepare"])
    assert place["exit", "prepare"] < place["gate-open", "prepare"]
    assert place["phase", None] > place["start", "router"]
    assert told[-1] == ("ready", None) and told[-2] == ("gate-open", "router")
    times = [event["t"] for event in watched.events()]
    assert times == sorted(times)


def test_what_is_executed_is_what_was_planned(rig: Rig) -> None:
    wanted = script(
        child("a", ("sleep", "3600"), env={"RUN": ref("run"), "IP": f"<{ref('ip', 0)}>"}, cwd=f"{ref('run')}/work"),
        child("b", ("env", "sleep", "3600"), after=("a",)),
        files=(File("work/a", "x"),),
    )
    watched = rig.start(wanted)
    watched.event("ready")
    bound = bind(wanted, {"run": str(watched.path), "ip0": "127.0.0.1"})
    assert load((watched.path / "bound.json").read_text()) == bound
    assert [(event["step"], tuple(event["argv"])) for event in watched.events("start")] == [
        (step.name, step.argv) for step in bound.children
    ]
    first = Path(f"/proc/{watched.pid('a')}")
    assert (first / "cmdline").read_bytes() == b"sleep\0003600\0"
    assert (first / "cwd").readlink() == watched.path / "work"
    assert f"RUN={watched.path}".encode() in (first / "environ").read_bytes().split(b"\0")


ENDS: list[tuple[str, Child, int, str, dict[str, Any]]] = [
    ("zero", child("x", python("")), 7, "step `x` ended with exit code 0 although it should last", {"exit": 0}),
    (
        "code",
        child("x", python(FAILING)),
        7,
        "step `x` ended with exit code 3",
        {"exit": 3, "role": "x", "first_error": "ValueError: the cause", "log": "logs/x.log"},
    ),
    ("task", child("x", python(FAILING), lasting=False), 7, "step `x` ended with exit code 3", {"exit": 3}),
    ("signal", child("x", ("sh", "-c", "kill -SEGV $$")), 7, "was killed by signal 11 (SIGSEGV)", {"signal": 11}),
    (
        "absent",
        child("x", ("no-such-program",)),
        7,
        "step `x` could not be started: No such file or directory: 'no-such-program'",
        {"first_error": "No such file or directory: 'no-such-program'"},
    ),
    ("NUL", child("x", ("true", "\0")), 7, "step `x` could not be started: embedded null byte", {}),
    ("cwd", child("x", ("true",), cwd="/no/such/place"), 7, "No such file or directory: '/no/such/place'", {}),
]


@pytest.mark.parametrize(("step", "code", "cause", "first"), [case[1:] for case in ENDS], ids=[c[0] for c in ENDS])
def test_end_of_a_critical_step_ends_the_run(
    rig: Rig, step: Child, code: int, cause: str, first: dict[str, Any]
) -> None:
    watched = rig.start(script(idle("other"), step))
    found = watched.ended()
    assert (found.state, found.exit) == ("failed", code)
    assert cause in str(found.cause)
    assert {"step": "x", **first}.items() <= dict(found.first or {}).items()
    assert watched.left() == []


def test_the_run_goes_on_without_what_is_not_critical(rig: Rig) -> None:
    watched = rig.start(
        script(
            child("lasting", python(FAILING), critical=False, gates=(shut(port()),)),
            child("task", python(FAILING), critical=False, lasting=False),
            child("absent", ("no-such-program",), critical=False),
            idle("after", after=("lasting", "task", "absent")),
        )
    )
    watched.event("ready")
    local.stop(rig.world, watched.run)
    assert watched.ended().exit == 0


def test_last_lines_are_those_of_the_step(rig: Rig) -> None:
    lines = "for n in range(30): print('line', n, flush=True)\n"
    code = f"import sys\n{lines}sys.stdout.buffer.write(b'\\xff\\x1b[31mred\\x1b[0m\\n')\nsys.exit(1)"
    first = rig.start(script(child("x", python(code)))).ended().first
    assert first is not None
    assert first["last_lines"] == [*(f"line {n}" for n in range(11, 30)), "\ufffdred"]


UP = Expect("workers", count=2, where={"up": True})
GATES = [
    ("refused", Gate("http", "http://127.0.0.1:1/a"), "connection refused"),
    ("status", Gate("http", "{url}", status=503), 'HTTP 200: {"workers": [{"up": true}]}'),
    ("count", Gate("http", "{url}", (UP,)), "HTTP 200; `workers` where up = true has 1, wanted 2"),
]


@pytest.mark.parametrize(("gate", "said"), [case[1:] for case in GATES], ids=[case[0] for case in GATES])
def test_a_step_that_never_gets_healthy_is_named_with_its_gate(rig: Rig, web: Web, gate: Gate, said: str) -> None:
    web.answers["/"] = (200, '{"workers": [{"up": true}]}')
    gate = replace(gate, url=gate.url.format(url=f"{web.url}/"))
    opens = Gate("tcp", web.url)
    worker = idle("worker", gates=(opens, gate))
    watched = rig.start(script(idle("fine"), worker, idle("router", after=("worker",)), budgets=BUDGETS))
    found = watched.ended()
    assert (found.state, found.exit) == ("expired", 6)
    assert found.cause == (
        f"step `worker` was not ready within 0.5 s: its gate http {gate.url} is shut, the last answer was: {said}"
    )
    assert found.first is not None
    assert {"step": "worker", "gate": f"http {gate.url}", "said": said}.items() <= found.first.items()
    assert watched.left() == []


def test_a_run_that_is_not_ready_as_a_whole_names_the_gate(rig: Rig) -> None:
    gate = shut(port())
    found = rig.start(script(idle("a"), ready=(gate,), budgets=BUDGETS)).ended()
    assert (found.exit, found.cause) == (
        6,
        f"the run was not ready within 0.5 s: http {gate.url} is shut, the last answer was: connection refused",
    )


def test_a_task_that_does_not_end_is_named(rig: Rig) -> None:
    found = rig.start(script(idle("task", lasting=False), budgets=BUDGETS)).ended()
    assert (found.exit, found.cause) == (6, "step `task` was not ready within 0.5 s: it is still running")


def test_a_gate_in_the_middle_of_asking_delays_nothing(rig: Rig, tmp_path: Path) -> None:
    # The server takes connections and says nothing; the gate would wait for longer than the test does.
    number = port()
    silent = f"import socket, time\ns = socket.create_server(('{HOST}', {number}))\nopen('listens', 'w')\n" + IDLE
    gates = (
        Gate("tcp", f"http://{HOST}:{number}", every=0.02),
        Gate("http", f"http://{HOST}:{number}", patience=3600.0),
    )
    watched = rig.start(script(child("silent", python(silent), gates=gates), child("other", python(IDLE))))
    until((watched.path / "listens").exists, "the server listens")
    os.kill(watched.pid("other"), signal.SIGKILL)
    assert watched.ended().exit == 7
    assert watched.left() == []


def test_many_steps(rig: Rig) -> None:
    watched = rig.start(script(*(idle(f"s{n}") for n in range(200))))
    watched.event("ready")
    assert len(watched.events("start")) == 200
    local.stop(rig.world, watched.run)
    assert watched.ended().exit == 0
    assert watched.left() == []


def test_a_script_that_cannot_be_run_says_why(rig: Rig) -> None:
    found = rig.start(script(idle("a"), idle("a"))).ended()
    cause = "the script cannot be run: two steps are called `a`"
    assert (found.state, found.exit, found.cause) == ("broken", 1, cause)


def test_a_fault_of_the_supervisor_is_an_outcome_and_its_traceback_in_the_log(rig: Rig) -> None:
    run = rig.create(script(idle("a")))
    (run.path / "slots.json").write_text('["run", "ip0"]')
    local.start(rig.world, run, script())
    found = Watched(rig.world, run).ended()
    assert found.exit == 1
    assert str(found.cause).startswith("the supervisor failed: TypeError: ")
    assert "Traceback" in (run.path / "supervisor.log").read_text()
