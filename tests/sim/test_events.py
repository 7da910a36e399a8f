"""KV events as they leave a worker: who binds, which port, under which topic, and what is in them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import zmq

from launcher.sim.events import Events, parse
from tests.sim.processes import Program, Start, ports, until
from tests.sim.sockets import Sockets, heard

WORDS = " ".join(f"w{number}" for number in range(40))
"""Two full blocks, and half a one."""
TOPIC = "kv@127.0.0.1:8000@tiny"


def parse_text(text: str, personality: str) -> Events | None:
    return parse(json.loads(text), personality, arrays=False)


def config(endpoint: str, **more: Any) -> str:
    return json.dumps({"enable_kv_cache_events": True, "publisher": "zmq", "endpoint": endpoint, **more})


@pytest.mark.parametrize(
    ("endpoint", "rank", "moved", "binds"),
    [
        ("tcp://*:5557", 0, "tcp://*:5557", True),
        ("tcp://*:5557", 3, "tcp://*:5560", True),
        ("tcp://*:0", 3, "tcp://*:0", True),
        ("tcp://10.0.0.1:5554", 3, "tcp://10.0.0.1:5557", False),
        ("tcp://0.0.0.0:5557", 0, "tcp://0.0.0.0:5557", False),
        ("tcp://[::]:5557", 1, "tcp://[::]:5558", True),
        ("inproc://kv", 2, "inproc://kv_dp2", True),
        ("ipc:///tmp/kv", 0, "ipc:///tmp/kv", True),
    ],
)
def test_where_a_rank_of_vllm_sends(endpoint, rank, moved, binds):
    found = Events(endpoint).of(rank)
    assert (found.endpoint, found.binds) == (moved, binds)


def test_what_sglang_does_otherwise() -> None:
    assert parse_text('{"endpoint": "tcp://*:1"}', "sglang") is None
    found = parse_text('{"publisher": "zmq", "endpoint": "tcp://0.0.0.0:1"}', "sglang")
    assert found is not None
    assert (found.binds, found.maps) == (True, False)
    told = parse_text('{"publisher": "zmq", "endpoint": "tcp://*:1", "bind": false}', "sglang")
    assert told is not None
    assert not told.binds


@pytest.mark.parametrize(
    "text", ['{"publisher": "zmq"}', '{"enable_kv_cache_events": true, "publisher": "null"}', "{}"]
)
def test_what_switches_them_off(text):
    assert parse_text(text, "vllm") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "a JSON object is wanted"),
        ('{"nope": 1}', "nope: Unexpected keyword argument"),
        ('{"bind": true}', "bind: Unexpected keyword argument"),
        ('{"publisher": "redis"}', "publisher: one of null, zmq is wanted"),
        ('{"hwm": "many"}', "hwm: a whole number is wanted"),
        ('{"topic": 1}', "topic: text is wanted"),
        ('{"endpoint": "udp://x"}', "endpoint: `inproc://…` or `tcp://HOST:PORT` is wanted"),
    ],
)
def test_what_vllm_refuses(text, said):
    with pytest.raises(ValueError, match=said):
        parse_text(text, "vllm")


@pytest.fixture
def sockets() -> Iterator[Sockets]:
    made = Sockets()
    yield made
    made.close()


def asked_until_heard(worker: Program, socket: Any) -> tuple[str, int, list[Any]]:
    """The first message: sockets need a moment to find each other, and what is sent before is lost."""
    asked = iter(range(1000))

    def look() -> Any:
        worker.complete(" ".join(f"n{next(asked)}" for _ in range(16)))
        return socket.poll(50)

    until(look, "an event")
    return heard(socket)


def test_ranks_reach_one_socket_that_was_bound(start: Start, sockets: Sockets) -> None:
    """Each is told a port as much lower as its number is high."""
    (port,) = ports(1)
    socket = sockets(zmq.SUB, at=f"tcp://127.0.0.1:{port}")
    workers = [
        start(
            "--dp-start-rank", str(rank), "--kv-events-config",
            config(f"tcp://127.0.0.1:{port - rank}", topic=f"kv@127.0.0.1:{8000 + rank}@tiny"),
        )
        for rank in (0, 1)
    ]  # fmt: skip
    found = {}
    for worker in workers:
        topic, _, batch = asked_until_heard(worker, socket)
        while socket.poll(100):
            heard(socket)
        found[topic] = batch[2]
    assert found == {"kv@127.0.0.1:8000@tiny": 0, "kv@127.0.0.1:8001@tiny": 1}


def test_what_is_told_of_a_prompt(start: Start, sockets: Sockets) -> None:
    one, two = ports(2)
    worker = start(
        "--kv-events-config", config(f"tcp://*:{one}", topic=TOPIC, replay_endpoint=f"tcp://127.0.0.1:{two}"),
        env={"VLLM_SERVER_DEV_MODE": "1"},
    )  # fmt: skip
    socket = sockets(zmq.SUB, by=f"tcp://127.0.0.1:{one}")
    topic, number, _ = asked_until_heard(worker, socket)
    while socket.poll(100):
        number = heard(socket)[1]
    worker.complete(WORDS, max_tokens=9)
    prompt, written = heard(socket), heard(socket)
    assert {topic, prompt[0], written[0]} == {TOPIC}
    assert (prompt[1], written[1]) == (number + 1, number + 2)
    ((_, (stored,), rank), (_, (more,), _)) = prompt[2], written[2]
    assert (rank, stored["type"], stored["block_size"], stored["parent_block_hash"]) == (0, "BlockStored", 16, None)
    assert (len(stored["block_hashes"]), len(stored["token_ids"])) == (2, 32)
    # 40 words and the first 8 of the answer fill a third block.
    assert (more["parent_block_hash"], len(more["token_ids"])) == (stored["block_hashes"][1], 16)
    assert worker.ask("/reset_prefix_cache", b"").status == 200
    assert heard(socket)[2][1] == [{"type": "AllBlocksCleared"}]

    replay = sockets(zmq.REQ, by=f"tcp://127.0.0.1:{two}")
    replay.send(prompt[1].to_bytes(8, "big"))
    assert [int.from_bytes(each, "big") for each in replay.recv_multipart()[1:2]] == [prompt[1]]
    sources = worker.ask("/kv_event_sources").data
    assert (sources["0"]["endpoint"], sources["0"]["topic"]) == (f"tcp://*:{one}", TOPIC)
    assert worker.end() == 0


def test_a_prompt_has_the_tokens_of_its_events(start: Start, sockets: Sockets) -> None:
    (port,) = ports(1)
    worker = start("--render", "--kv-events-config", config(f"tcp://*:{port}"))
    socket = sockets(zmq.SUB, by=f"tcp://127.0.0.1:{port}")
    asked_until_heard(worker, socket)
    while socket.poll(100):
        heard(socket)
    (rendered,) = worker.ask("/v1/completions/render", {"model": "tiny", "prompt": WORDS}).data
    worker.complete(WORDS, max_tokens=1)
    assert heard(socket)[2][1][0]["token_ids"] == rendered["token_ids"][:32]
    chat = {"model": "tiny", "messages": [{"role": "user", "content": WORDS}]}
    assert worker.ask("/v1/chat/completions/render", chat).data["token_ids"] == rendered["token_ids"]
    silent = start()
    assert silent.ask("/v1/completions/render", {"model": "tiny", "prompt": "a"}).status == 403


def test_all_that_was_missed_is_replayed(start: Start, sockets: Sockets) -> None:
    one, two = ports(2)
    worker = start("--kv-events-config", config(f"tcp://*:{one}", replay_endpoint=f"tcp://127.0.0.1:{two}"))
    for number in range(3):
        worker.complete(" ".join(f"{number}x{word}" for word in range(16)), max_tokens=1)
    dealer = sockets(zmq.DEALER, by=f"tcp://127.0.0.1:{two}")
    dealer.send_multipart((b"", (1).to_bytes(8, "big")))
    found = [dealer.recv_multipart() for _ in range(3)]
    assert [int.from_bytes(each[2], "big", signed=True) for each in found] == [1, 2, -1]
    assert [len(each) for each in found] == [4, 4, 4]


def test_older_versions_write_arrays(start: Start, sockets: Sockets) -> None:
    (port,) = ports(1)
    worker = start("--kv-events-config", config(f"tcp://*:{port}"), "--kv-events-arrays")
    event = asked_until_heard(worker, sockets(zmq.SUB, by=f"tcp://127.0.0.1:{port}"))[2][1][0]
    assert (event[0], event[2], len(event[3]), event[4:7]) == ("BlockStored", None, 16, [16, None, "GPU"])


def test_each_rank_has_a_port(start: Start, sockets: Sockets) -> None:
    port = next(port for port in ports(8) if port % 10 < 8)
    worker = start("--dp-size", "2", "--kv-events-config", config(f"tcp://*:{port}"))
    both = [sockets(zmq.SUB, by=f"tcp://127.0.0.1:{port + rank}") for rank in (0, 1)]
    assert [asked_until_heard(worker, socket)[2][2] for socket in both] == [0, 1]


def test_a_busy_port_is_named(start: Start) -> None:
    (port,) = ports(1)
    start("--kv-events-config", config(f"tcp://*:{port}"))
    second = start.run([*start.programs[0].process.args[:-1], config(f"tcp://*:{port}")])  # type: ignore[index]
    assert second.wait() == 1
    assert f"KV events cannot leave by tcp://*:{port}: Address already in use" in second.text
