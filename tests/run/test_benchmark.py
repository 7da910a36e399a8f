"""The benchmark of a run: it starts once all is ready, and its end is the run's."""

from typing import Any

import pytest

from launcher.execute import local
from launcher.run.script import Budgets, Gate
from tests.run.rig import HOST, Rig, child, port, python, script, server, until

FAILING = "import sys; print('Error: no answer', flush=True); sys.exit(9)"


def bench(code: str, name: str = "bench", **more: Any) -> Any:
    words = python(code) if code else ("sleep", "3600")
    return child(name, more.pop("words", words), role="benchmark", lasting=False, benchmark=True, **more)


def test_it_starts_when_the_run_is_ready_and_its_end_is_the_run_s(rig: Rig) -> None:
    number = port()
    code = f"import urllib.request as r; print(r.build_opener(r.ProxyHandler({{}})).open('http://{HOST}:{number}/').read())"
    ready = (Gate("http", f"http://{HOST}:{number}/", every=0.02),)
    watched = rig.start(script(bench(code, after=("worker",)), server("worker", number, "good day"), ready=ready))
    found = watched.ended()
    assert (found.state, found.exit, found.cause, found.first) == ("finished", 0, "the benchmark has ended", None)
    told = [(event["event"], event.get("step") or event.get("phase")) for event in watched.events()]
    order = [("phase", "gated"), ("ready", None), ("phase", "benchmark"), ("start", "bench"), ("exit", "bench")]
    assert [each for each in told if each in order] == order
    assert found.ready_after is not None
    assert (watched.path / "logs" / "bench.log").read_text() == "b'good day'\n"
    assert watched.left() == []


def test_all_of_several_have_to_end(rig: Rig) -> None:
    wait = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"
    watched = rig.start(script(bench("pass", "one"), bench(wait, "two"), child("a", ("sleep", "3600"))))
    watched.event("exit", "one")
    until(lambda: watched.run.path.joinpath("logs/two.log").exists(), "the second runs")
    assert watched.events("stop") == []
    (watched.path / "go").touch()
    assert watched.ended().state == "finished"


CASES: list[tuple[str, Any, str, dict[str, Any]]] = [
    (
        "code",
        bench(FAILING),
        "step `bench` ended with exit code 9, while the benchmark ran",
        {"exit": 9, "first_error": "Error: no answer"},
    ),
    ("signal", bench("", words=("sh", "-c", "kill -SEGV $$")), "was killed by signal 11 (SIGSEGV)", {"signal": 11}),
    ("absent", bench("", words=("no-such-program",)), "step `bench` could not be started", {}),
]


@pytest.mark.parametrize(("benchmark", "cause", "first"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_a_failing_one_fails_the_run(rig: Rig, benchmark: Any, cause: str, first: dict[str, Any]) -> None:
    watched = rig.start(script(benchmark, child("a", ("sleep", "3600"))))
    found = watched.ended()
    assert (found.state, found.exit) == ("failed", 7)
    assert cause in str(found.cause)
    assert {"step": "bench", "role": "benchmark", "phase": "benchmark", **first}.items() <= dict(
        found.first or {}
    ).items()
    assert watched.left() == []


def test_a_worker_that_ends_meanwhile_is_to_blame(rig: Rig) -> None:
    code = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"
    watched = rig.start(script(bench(""), child("worker", python(code))))
    watched.event("start", "bench")
    (watched.path / "go").touch()
    found = watched.ended()
    assert found.exit == 7
    assert found.cause == "step `worker` ended with exit code 0 although it should last, while the benchmark ran"


def test_the_budget_is_for_becoming_ready_alone(rig: Rig) -> None:
    code = "import time; time.sleep(5)"
    watched = rig.start(script(bench(code), child("a", ("sleep", "3600")), budgets=Budgets(4.0, 5.0)))
    assert watched.ended().state == "finished"


def test_a_run_that_never_gets_ready_never_starts_it(rig: Rig) -> None:
    ready = (Gate("http", f"http://{HOST}:{port()}/", every=0.02),)
    watched = rig.start(script(bench("pass"), child("a", ("sleep", "3600")), ready=ready))
    watched.event("gate-shut")
    local.stop(rig.world, watched.run)
    assert watched.ended().exit == 0
    assert watched.events("start") and "bench" not in {event["step"] for event in watched.events("start")}


def test_down_meanwhile_is_down(rig: Rig) -> None:
    watched = rig.start(script(bench(""), child("a", ("sleep", "3600"))))
    watched.event("start", "bench")
    local.stop(rig.world, watched.run)
    found = watched.ended()
    assert (found.state, found.exit) == ("stopped", 0)
    assert watched.left() == []
