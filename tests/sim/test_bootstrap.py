"""Prefill to decode in SGLang's way, and how it shows that it did not happen."""

import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from tests.sim.legs import counted, grown, how
from tests.sim.processes import Answer, Program, Start, ports


def sglang(start: Start, mode: str, name: str, *words: str) -> Program:
    """An SGLang worker of one mode."""
    return start("--personality", "sglang", "--disaggregation-mode", mode, "--name", name, *words)


def both(
    prefill: Program, decode: Program, prompt: Any, fields: Mapping[str, Any], **more: Any
) -> tuple[Answer, Answer]:
    """The same request to both legs at once, as the routers send it."""
    with ThreadPoolExecutor(2) as pool:
        legs = [pool.submit(worker.complete, prompt, **fields, **more) for worker in (prefill, decode)]
        return legs[0].result(), legs[1].result()


@dataclass(frozen=True)
class Trio:
    """An SGLang prefill worker and its bootstrap port, a decode worker, and one of each that soon loses patience."""

    prefill: Program
    decode: Program
    hasty_prefill: Program
    hasty_decode: Program
    port: int

    def room(self, number: int, **wrong: Any) -> dict[str, Any]:
        """What both legs are told."""
        return {"bootstrap_host": "127.0.0.1", "bootstrap_port": self.port, "bootstrap_room": number, **wrong}


@pytest.fixture(scope="module")
def trio(shared: Start) -> Trio:
    """SGLang workers of both modes."""
    bootstrap, other = ports(2)
    hasty = ("--handoff-timeout", "0.2")
    return Trio(
        sglang(shared, "prefill", "p0", "--disaggregation-bootstrap-port", str(bootstrap)),
        sglang(shared, "decode", "d0"),
        sglang(shared, "prefill", "p1", "--disaggregation-bootstrap-port", str(other), *hasty),
        sglang(shared, "decode", "d1", *hasty),
        bootstrap,
    )


def test_sglang_hands_over(trio: Trio) -> None:
    before = (*counted(trio.prefill), *counted(trio.decode))
    first, second = both(trio.prefill, trio.decode, "a b c", trio.room(7))
    assert (how(first), first.data["usage"]["completion_tokens"]) == ("prefill", 1)
    assert (how(second), second.data["choices"][0]["text"]) == ("handed-over by p0", "a b c")
    after = (*counted(trio.prefill), *counted(trio.decode))
    assert grown(before, after) == (1, 0, 0, 0, 1, 0)


def test_sglang_tells_its_mode(trio: Trio) -> None:
    modes = [worker.ask("/server_info").data["disaggregation_mode"] for worker in (trio.prefill, trio.decode)]
    assert modes == ["prefill", "decode"]


def test_sglang_hands_over_a_batch(trio: Trio) -> None:
    fields = {
        "bootstrap_host": ["127.0.0.1"] * 2,
        "bootstrap_port": [trio.port] * 2,
        "bootstrap_room": [1, 2],
    }
    _, second = both(trio.prefill, trio.decode, ["a b", "c"], fields)
    assert (how(second), [choice["text"] for choice in second.data["choices"]]) == ("handed-over by p0", ["a b", "c"])
    short = trio.decode.complete(["a", "b"], **{**fields, "bootstrap_room": [1]})
    assert (short.status, "2 are wanted" in short.data["message"]) == (400, True)


def test_sglang_bootstrap_server_listens(trio: Trio) -> None:
    with socket.create_connection(("127.0.0.1", trio.port)) as sock:
        sock.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        assert sock.recv(65536).startswith(b"HTTP/1.1 200 OK")


def test_sglang_decode_says_it_recomputed(trio: Trio) -> None:
    before = counted(trio.decode)
    assert how(trio.decode.complete()) == "recomputed"
    assert grown(before, counted(trio.decode)) == (0, 0, 1)


ADDRESSES = [
    ({"bootstrap_port": None}, "127.0.0.1:None, room 7: an address is missing"),
    ({"bootstrap_host": None}, "None:"),
    ({"bootstrap_host": "127.0.0.2"}, "no hand-over from 127.0.0.2:"),
    ({"bootstrap_room": 8}, "it has no such prompt"),
]


@pytest.mark.parametrize(("wrong", "text"), ADDRESSES)
def test_sglang_fails_where_nothing_can_be_fetched(trio: Trio, wrong: Mapping[str, Any], text: str) -> None:
    answer = trio.hasty_decode.complete(**trio.room(7, **wrong))
    assert (answer.status, answer.data["type"]) == (500, "InternalServerError")
    assert text in answer.data["message"]


def test_sglang_fails_at_the_wrong_port(trio: Trio) -> None:
    (closed,) = ports(1)
    answer = trio.decode.complete(**trio.room(7, bootstrap_port=closed))
    assert (answer.status, f"127.0.0.1:{closed}" in answer.data["message"]) == (500, True)
    other = trio.decode.complete(**trio.room(7, bootstrap_port=trio.decode.port))
    assert (other.status, "it has no such prompt" in other.data["message"]) == (500, True)


def test_sglang_prefill_fails_when_nobody_fetches(trio: Trio) -> None:
    answer = trio.hasty_prefill.complete(**trio.room(7))
    assert (answer.status, "no decode worker fetched" in answer.data["message"]) == (500, True)
    stream = trio.hasty_prefill.complete(**trio.room(7), stream=True).events
    assert stream[-1]["error"]["code"] == 500
