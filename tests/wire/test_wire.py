"""Layouts of vLLM with the launcher's own words, behind the real routers."""

import os
import signal
import time

import pytest

from tests.end.deployment import until
from tests.sim.processes import ask
from tests.wire.conftest import FETCHED, FOLDER, PATIENCE, Wire, lines

pytestmark = pytest.mark.timeout(2 * PATIENCE)

ONE = "roles.worker = { %s }\n"
HALVES = 'defaults.kv = "nixl"\nroles.prefill = {}\nroles.decode = {}\nrouter = { kind = "%s" }\n'
TURNS = 'router = { kind = "%s", flags = { policy = "round_robin" } }\n'
SERVED = "vllm:request_success_total"
MOST = 40
LONG = " ".join(["one two three four five"] * 13)
"""More than a block: what fills none may be computed again, and no event tells of it."""


def shared(wire: Wire, count: int) -> None:
    """Every one of `count` workers has served a request."""
    for number in range(MOST):
        wire.answer(f"{number} {LONG}")
        served = wire.counted(SERVED)
        if all(served.values()):
            break
    assert len(served) == count
    assert all(served.values()), served


def handed_over(wire: Wire) -> None:
    """Decode fetches every token of a prompt from prefill."""
    before = wire.counted(FETCHED)
    answer = wire.answer(LONG)
    after = wire.counted(FETCHED)
    assert after["decode-0"] - before["decode-0"] == answer["usage"]["prompt_tokens"] > 32
    assert after["prefill-0"] == before["prefill-0"]


def dies_unnoticed(wire: Wire, step: str) -> None:
    """Once a step is dead every `/health` that is left goes on saying 200; the run ends for that step's sake."""
    supervisor = wire.pid("supervisor")
    # So that there is time to look.
    os.kill(supervisor, signal.SIGSTOP)
    try:
        os.kill(wire.pid(step), signal.SIGKILL)
        end = time.monotonic() + 2
        left = [place.rpartition(":") for name, place in wire.endpoints().items() if name != step]
        while time.monotonic() < end:
            assert [ask(int(port), "/health", host=host).status for host, _, port in left] == [200] * len(left)
            time.sleep(0.1)
    finally:
        os.kill(supervisor, signal.SIGCONT)
    until(lambda: wire.seen("end"), "the end of the run", PATIENCE)
    assert wire.outcome()["exit"] == 7
    assert wire.outcome()["first"]["step"] == step


@pytest.mark.parametrize("router", ["vllm-router", "smg"])
def test_aggregate(wire: Wire, router: str) -> None:
    wire.deploy(ONE % "replicas = 2" + TURNS % router)
    answer = wire.answer()
    assert answer["usage"]["completion_tokens"] == 8
    chat = {"model": "tiny", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 4, "stream": True}
    events = wire.request("/v1/chat/completions", chat).events
    assert len(events) > 1
    shared(wire, 2)
    wire.down()


def test_prefill_and_decode(wire: Wire) -> None:
    """Decode fetches every token of the prompt from prefill, over NIXL."""
    wire.deploy(HALVES % "vllm-router", "--unset", "roles.worker")
    handed_over(wire)
    wire.down()


# SMG 1.13 calls a worker ill whose servicer does not answer a probe within 5 s: a CPU that has other work to do needs
# more.
PATIENT = [
    word
    for flag in ("health-check-timeout-secs", "health-failure-threshold")
    for word in ("--set", f"router.flags.{flag}=300")
]


def test_prefill_and_decode_over_grpc(wire: Wire) -> None:
    """Behind SMG: decode fetches every token of every prompt."""
    # The servicer would compute 35 prompts of its own, for half a minute and more.
    own = 'defaults.flags.grpc = true\ndefaults.env.SMG_VLLM_SERVICER_WARMUP = "off"\n'
    kept = ("--set", f'roles.decode.env.{FOLDER}="{wire.kept()}"')
    wire.deploy(HALVES % "smg" + own, "--unset", "roles.worker", *PATIENT, *kept)
    before = wire.fetched("decode-0")
    answers = [wire.answer(words) for words in (LONG, f"six {LONG}")]
    assert [answer["usage"]["completion_tokens"] for answer in answers] == [8, 8]
    chat = {"model": "tiny", "messages": [{"role": "user", "content": f"seven {LONG}"}], "max_tokens": 4}
    streamed = {**chat, "stream": True, "stream_options": {"include_usage": True}}
    answers.append(wire.request("/v1/chat/completions", streamed).events[-1])
    prompts = [answer["usage"]["prompt_tokens"] for answer in answers]
    assert min(prompts) > 32
    until(lambda: wire.fetched("decode-0") >= before + sum(prompts), "the counter", PATIENCE)
    assert wire.fetched("decode-0") == before + sum(prompts)
    assert wire.scraped() == []
    wire.down()


def test_a_server_for_each_rank(wire: Wire) -> None:
    """Each data-parallel rank is an endpoint, and has its share; one that dies ends the run."""
    flags = "flags = { data-parallel-size = 2, data-parallel-external-lb = true }, gpus = 2"
    wire.deploy(ONE % flags + TURNS % "smg", experts=2)
    shared(wire, 2)
    dies_unnoticed(wire, "worker-0-rank1")


def test_ranks_of_one_server(wire: Wire) -> None:
    """One API for ranks on one node, which vLLM balances itself."""
    wire.deploy(ONE % "flags = { data-parallel-size = 2 }, gpus = 2", gpus=2)
    (group,) = wire.scraped()
    host, _, port = group["targets"][0].rpartition(":")
    for _ in range(MOST):
        wire.answer()
        text = ask(int(port), "/metrics", host=host).body.decode()
        served = {name for name, value in lines(text) if name.partition("{")[0] == SERVED and value}
        if all(any(f'engine="{rank}"' in name for name in served) for rank in (0, 1)):
            break
    assert {rank for rank in (0, 1) if any(f'engine="{rank}"' in name for name in served)} == {0, 1}
    wire.down()


def test_ranks_on_two_nodes(wire: Wire) -> None:
    """One API for the ranks of two nodes; a follower that dies ends the run."""
    wire.deploy(ONE % "flags = { data-parallel-size = 2 }, gpus = 2")
    for _ in range(4):
        wire.answer()
    assert wire.counted(SERVED)["worker-0"] >= 4
    dies_unnoticed(wire, "worker-0-rank1")


def test_one_rank_on_two_nodes(wire: Wire) -> None:
    """What is said in the engine's own file counts as well."""
    wire.deploy(ONE % "config = { tensor-parallel-size = 2, enable-prefix-caching = false }, gpus = 2")
    assert wire.answer()["usage"]["completion_tokens"] == 8
    wire.down()
