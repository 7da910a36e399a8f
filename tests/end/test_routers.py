"""Every layout with the real router: who answered, what was handed over, and when the gates stay shut."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from launcher.run.gate import probe
from tests.end.block import block
from tests.end.deployment import Deployment
from tests.end.environments import environment
from tests.end.parts import Parts
from tests.sim.processes import Answer, Start, ask, samples, until

APART = "sglang-router"
"""The router that has an environment of its own, and so is the name of that."""

SESSIONS = {
    "sim-vllm-router": ("X-Session-ID", "policy=consistent_hash"),
    "sim-sglang-router": ("X-SMG-Routing-Key", "policy=manual", "dp-aware=true"),
    "sim-smg": ("X-SMG-Routing-Key", "policy=consistent_hashing"),
}
"""Recipe → the header that keeps a session where it is, and the router's flags for that."""
FEW, MOST = 20, 1000
"""Sessions that are looked at, and after how many somebody must have had one: hashes are not fair."""
RANKED = ("sim-vllm-router", "sim-vllm-router-pd", "sim-sglang-router")
"""Recipes whose router addresses data-parallel ranks."""
HALVES = ("sim-vllm-router-pd", "sim-sglang-router-pd", "sim-smg-pd")
OLDER = "smg-1.11.0"


@pytest.fixture
def user(deployment: Deployment) -> Deployment:
    """A user whose own part of the cluster file names the environment of the router that needs one."""
    own = deployment.home / "config" / "launch" / "clusters"
    own.mkdir(parents=True)
    images = f'[images]\n{APART} = "{environment(APART)}"\n'
    (own / "local.toml").write_text(f'schema = 1\nname = "local"\n{images}', encoding="utf-8")
    return deployment


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with Start(tmp_path) as starting:
        yield starting


@pytest.fixture
def shift() -> Iterator[str]:
    with block() as number:
        yield f"ports.shift={number}"


def request(user: Deployment, path: str, data: Any = None, **headers: str) -> Answer:
    return ask(8000 + user.shift, path, data, {name.replace("_", "-"): text for name, text in headers.items()})


def complete(user: Deployment, prompt: str = "a b c", **headers: str) -> dict[str, Any]:
    answer = request(user, "/v1/completions", {"model": "tiny", "prompt": prompt, "max_tokens": 2}, **headers)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.data
    return found


def served_by(answer: dict[str, Any]) -> tuple[str, int]:
    """Worker and data-parallel rank."""
    return answer["sim"]["worker"], answer["sim"]["rank"]


def counted(user: Deployment, port: int, what: str, worker: str) -> int:
    """What a worker itself counted."""
    text = ask(port + user.shift, "/metrics").body.decode()
    return int(samples(text)[f'sim:{what}_requests_total{{worker="{worker}"}}'])


def sets(roles: Sequence[str], recipe: str, *flags: str) -> list[str]:
    """The words that give the workers of `roles` two ranks, where the router addresses them, and the router flags."""
    ranks = [f"roles.{role}.flags.dp-size=2" for role in roles if recipe in RANKED]
    return [word for each in (*ranks, *(f"router.flags.{flag}" for flag in flags)) for word in ("--set", each)]


@pytest.mark.parametrize("recipe", SESSIONS)
def test_aggregate(user: Deployment, recipe: str) -> None:
    """Every rank of every worker answers, and a session stays where it came to."""
    header, *flags = SESSIONS[recipe]
    up = user.up(recipe, "--wait", *sets(["worker"], recipe, *flags))
    assert up.returncode == 0, up.stderr
    assert f"tiny is ready at {user.url}" in up.stdout
    ranks = 2 if recipe in RANKED else 1
    assert request(user, "/workers").data["total"] == 2 * ranks
    everybody = {(f"worker-{each}", rank) for each in (0, 1) for rank in range(ranks)}
    served: set[tuple[str, int]] = set()
    for number in range(MOST):
        first, second = (served_by(complete(user, **{header: f"session {number}"})) for _ in range(2))
        assert first == second
        served.add(first)
        if number >= FEW and served == everybody:
            break
    assert served == everybody
    user.down()


@pytest.mark.parametrize("recipe", HALVES)
def test_prefill_and_decode(user: Deployment, recipe: str) -> None:
    """Every half has its share, and no prompt is computed twice."""
    up = user.up(recipe, "--wait", *sets(["prefill", "decode"], recipe))
    assert up.returncode == 0, up.stderr
    ranks = 2 if recipe in RANKED else 1
    assert request(user, "/workers").data["stats"] == {
        "prefill_count": 2 * ranks, "decode_count": 2 * ranks, "regular_count": 0,
    }  # fmt: skip
    answers = [complete(user) for _ in range(8)]
    parts = [answer["sim"] for answer in answers]
    assert Counter(map(served_by, answers)) == {
        (f"decode-{each}", rank): 4 // ranks for each in (0, 1) for rank in range(ranks)
    }
    assert {part["prefilled_by"] for part in parts} == {"prefill-0", "prefill-1"}
    assert not any(part["recomputed"] for part in parts)
    events = request(user, "/v1/chat/completions", {
        "model": "tiny", "stream": True, "messages": [{"role": "user", "content": "a b"}],
    }).events  # fmt: skip
    assert {event["system_fingerprint"].partition(":")[2] for event in events} == {"handed-over"}

    asked = len(answers) + 2  # the launcher's own completion came first
    decodes, prefills = {"decode-0": 6164, "decode-1": 6196}, {"prefill-0": 6100, "prefill-1": 6132}
    assert sum(counted(user, port, "handed_over", name) for name, port in decodes.items()) == asked
    assert sum(counted(user, port, "prefilled", name) for name, port in prefills.items()) == asked
    assert sum(counted(user, port, "recomputed", name) for name, port in decodes.items()) == 0
    user.down()


def test_an_older_smg(user: Deployment) -> None:
    where = ("--set", f"router.image={environment(OLDER)}", "--set", "router.version=1.11.0")
    up = user.up("sim-smg-pd", "--wait", *where)
    assert up.returncode == 0, up.stderr
    answers = [complete(user)["sim"] for _ in range(4)]
    assert {answer["worker"] for answer in answers} == {"decode-0", "decode-1"}
    assert not any(answer["recomputed"] for answer in answers)
    user.down()


def parts(start: Start, recipe: str, shift: str, *sets: str) -> Parts:
    where = [f"router.image={environment(APART)}"] if "sglang" in recipe else []
    return Parts(start, recipe, shift, *where, *sets)


@pytest.mark.parametrize("recipe", ["sim-sglang-router", "sim-smg"])
def test_the_gate_waits_for_a_worker_that_is_missing(start: Start, shift: str, recipe: str) -> None:
    made = parts(start, recipe, shift)
    made.begin("worker-0")
    until(lambda: made.open("worker-0"), "one worker")
    made.begin("router")
    until(lambda: made.says("/readiness"), "the router to call itself ready")
    (said,) = made.asked(*made.child("router").gates)
    assert said.said.startswith("HTTP 200; `stats.regular_count` is 1, wanted 2")
    assert not made.ready
    made.begin("worker-1")
    until(lambda: made.open("router"), "the router to have both")
    until(lambda: made.ready, "all to be ready")


def test_vllm_router_lists_a_worker_that_nobody_reached(start: Start, shift: str) -> None:
    """Its own view is not enough: the worker's own gate keeps the run from being ready."""
    made = parts(start, "sim-vllm-router", shift, "router.flags.health-check-interval-secs=600")
    made.begin("worker-0")
    until(lambda: made.open("worker-0"), "one worker")
    made.begin("router")
    until(lambda: made.open("router"), "the router to call both healthy")
    assert not made.ready
    shut = [
        gate.url
        for gate, answer in zip(made.script.ready, made.asked(*made.script.ready), strict=True)
        if not answer.open
    ]
    absent = next(gate.url for gate in made.child("worker-1").gates)
    assert absent in shut
    made.begin("worker-1")
    until(lambda: made.ready, "all to be ready")


@pytest.mark.parametrize("recipe", SESSIONS)
def test_the_gate_shuts_when_a_worker_dies_that_the_router_still_lists(start: Start, shift: str, recipe: str) -> None:
    made = parts(start, recipe, shift)
    made.begin("worker-0", "worker-1")
    until(lambda: made.open("worker-0") and made.open("worker-1"), "both workers")
    made.begin("router")
    until(lambda: made.ready, "all to be ready")
    made.kill("worker-1")
    assert not made.open("worker-1")
    until(lambda: not made.open("router"), "the router to notice")
    assert len(made.ask("/workers").data["workers"]) == 2
    assert made.says("/readiness")


def test_prefill_and_decode_are_shut_to_a_router_of_whole_requests(start: Start, shift: str) -> None:
    """As many workers, all healthy, status 200, and the wrong part for each."""
    halves = parts(start, "sim-vllm-router-pd", shift)
    halves.begin("prefill-0", "prefill-1", "decode-0", "decode-1")
    (gate,) = halves.child("router").gates
    words = halves.child("router").argv
    urls = [word for word in words if word.startswith("http://")]
    at = words.index("--vllm-pd-disaggregation")
    until(lambda: all(halves.open(name) for name in [*halves.programs]), "the workers")
    start.run([*words[:at], "--worker-urls", *urls])
    until(lambda: probe(gate).said.startswith("HTTP 200"), "the router")
    answer = probe(gate)
    assert not answer.open
    assert "`stats.regular_count` is 4, wanted 0" in answer.said
    assert '`workers` where worker_type = "prefill", is_healthy = true has 0, wanted 2' in answer.said


def test_ranks_of_halves_are_lost_behind_sglang_router(start: Start, shift: str) -> None:
    """Why `dp-aware` is refused there: all is listed, and requests go to hosts that do not exist (0.3.2)."""
    made = parts(start, "sim-sglang-router-pd", shift, "router.flags.dp-aware=true")
    steps = ("prefill-0", "prefill-1", "decode-0", "decode-1")
    made.begin(*steps)
    until(lambda: all(made.open(name) for name in steps), "the workers")
    made.begin("router")
    until(lambda: made.open("router"), "the router to have all")
    assert made.ask("/v1/completions", {"model": "tiny", "prompt": "a"}).status >= 500


def test_absent_router_comes_with_the_words_that_make_it(deployment: Deployment) -> None:
    up = deployment.up("sim-sglang-router", "--wait")
    assert up.returncode == 4
    home = deployment.home / ".local/share/launch/environments/sglang-router"
    advice = [line.strip() for line in up.stderr.partition("help: ")[2].splitlines()]
    python, *venv = advice[1].split()
    assert python.startswith("/") and Path(python).exists()
    assert venv == ["-m", "venv", str(home)]
    assert advice[2] == f"{home}/bin/python -m pip install sglang-router==0.3.2"
    assert advice[3] == f"then in {deployment.home}/config/launch/clusters/local.toml:"
    assert advice[4:] == ["schema = 1", 'name = "local"', "[images]", f'sglang-router = "{home}"']
    assert deployment.runs == []
