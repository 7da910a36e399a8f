"""Layouts of vLLM with the launcher's own words, behind the real routers."""

import os
import re
import signal

import pytest

from tests.end.deployment import until
from tests.wire.conftest import PATIENCE, Wire

pytestmark = pytest.mark.timeout(2 * PATIENCE)

ONE = "roles.worker = { %s }\n"
SERVED = "vllm:request_success_total"
MOST = 40


def shared(wire: Wire, count: int) -> None:
    """Every one of `count` workers has served a request."""
    for _ in range(MOST):
        wire.answer()
        served = wire.counted(SERVED)
        if all(served.values()):
            break
    assert len(served) == count
    assert all(served.values()), served


def down(wire: Wire) -> None:
    assert wire("down", "last").returncode == 0
    assert wire.left() == []
    assert wire.outcome()["exit"] == 0


@pytest.mark.parametrize("router", ["vllm-router", "smg"])
def test_aggregate(wire: Wire, router: str) -> None:
    wire.deploy(ONE % "replicas = 2" + f'router = {{ kind = "{router}", flags = {{ policy = "round_robin" }} }}\n')
    answer = wire.answer()
    assert answer["usage"]["completion_tokens"] == 8
    chat = {"model": "tiny", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 4, "stream": True}
    events = wire.request("/v1/chat/completions", chat).events
    assert len(events) > 1
    shared(wire, 2)
    down(wire)


def test_prefill_and_decode(wire: Wire) -> None:
    """Decode fetches every token of the prompt from prefill, over NIXL."""
    halves = 'defaults.kv = "nixl"\nroles.prefill = {}\nroles.decode = {}\nrouter = { kind = "vllm-router" }\n'
    wire.deploy(halves, "--unset", "roles.worker")
    before = wire.counted("vllm:external_prefix_cache_hits_total")
    # More than a block: what fills none may be computed again.
    answer = wire.answer(" ".join(["one two three four five"] * 13))
    after = wire.counted("vllm:external_prefix_cache_hits_total")
    assert after["decode-0"] - before["decode-0"] == answer["usage"]["prompt_tokens"] > 32
    assert after["prefill-0"] == before["prefill-0"]
    down(wire)


@pytest.mark.parametrize("wire", ["vllm"], indirect=True)
def test_prefill_and_decode_over_grpc(wire: Wire) -> None:
    """Behind SMG: decode fetches what prefill computed. Over gRPC there are no metrics, but a log of the transfers."""
    halves = 'defaults.kv = "nixl"\nroles.prefill = {}\nroles.decode = {}\nrouter = { kind = "smg" }\n'
    wire.deploy(f"{halves}defaults.flags.grpc = true\n", "--unset", "roles.worker")
    answer = wire.answer(" ".join(["one two three four five"] * 13))
    assert answer["usage"]["completion_tokens"] == 8
    log = wire.run / "logs" / "decode-0.log"
    said = re.compile(r"KV Transfer metrics: Num successful transfers=[1-9]")
    until(lambda: said.search(log.read_text(encoding="utf-8", errors="replace")), "a transfer", PATIENCE)
    assert wire.scraped() == []
    down(wire)


def test_a_server_for_each_rank(wire: Wire) -> None:
    """Each data-parallel rank is an endpoint, and has its share."""
    flags = "flags = { data-parallel-size = 2, data-parallel-external-lb = true }, gpus = 2"
    wire.deploy(ONE % flags + 'router = { kind = "smg", flags = { policy = "round_robin" } }\n', experts=2)
    shared(wire, 2)
    down(wire)


def test_ranks_on_two_nodes(wire: Wire) -> None:
    """One API for the ranks of two nodes; a follower that dies ends the run, whatever `/health` says."""
    wire.deploy(ONE % "flags = { data-parallel-size = 2 }, gpus = 2")
    for _ in range(4):
        wire.answer()
    assert wire.counted(SERVED)["worker-0"] >= 4
    os.kill(wire.pid("worker-0-rank1"), signal.SIGKILL)
    until(lambda: wire.seen("end"), "the end of the run", PATIENCE)
    assert wire.outcome()["exit"] == 7
    assert wire.outcome()["first"]["step"] == "worker-0-rank1"


def test_one_rank_on_two_nodes(wire: Wire) -> None:
    """What is said in the engine's own file counts as well."""
    wire.deploy(ONE % "config = { tensor-parallel-size = 2, enable-prefix-caching = false }, gpus = 2")
    assert wire.answer()["usage"]["completion_tokens"] == 8
    down(wire)
