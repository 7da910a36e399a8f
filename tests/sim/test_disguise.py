"""In the place of an engine: its whole command line, read by its catalogue, and servers that find each other."""

import json
import socket
import time
from collections.abc import Sequence

import pytest

from launcher.sim.disguise import undisguised
from launcher.sim.parser import Settings, settings
from tests.sim.processes import ROOT, WORKER, Start, ports, until

VLLM = ROOT / "manifests" / "flags" / "vllm" / "0.33.0.json"


def told(words: Sequence[str], name: str = "w", **environment: str) -> Settings:
    return settings(undisguised(["--as", "vllm", f"--catalogue={VLLM}", f"--name={name}", "--", *words], environment))


def serve(*words: str, **environment: str) -> Settings:
    return told(["vllm", "serve", "/m", *words], **environment)


DP = ("--data-parallel-size=8", "--data-parallel-address=10.0.0.1", "--data-parallel-rpc-port=8400")
LOCAL = "--data-parallel-size-local=4"


@pytest.mark.parametrize(
    ("words", "ranks", "headless", "others"),
    [
        ((), range(1), False, None),
        (("--data-parallel-size=4",), range(4), False, None),
        ((*DP, LOCAL), range(8), False, ("gathers", 1)),
        ((*DP, LOCAL, "--data-parallel-start-rank=4", "--headless"), range(8), True, "joins"),
        ((*DP, LOCAL, "--data-parallel-start-rank=0", "--data-parallel-hybrid-lb"), range(4), False, ("gathers", 1)),
        ((*DP, LOCAL, "--data-parallel-start-rank=4", "--data-parallel-hybrid-lb"), range(4, 8), False, "joins"),
        ((*DP, "--data-parallel-rank=0", "--data-parallel-external-lb"), range(1), False, ("gathers", 7)),
        ((*DP, "--data-parallel-rank=3", "--data-parallel-external-lb"), range(3, 4), False, "joins"),
        (
            ("--nnodes=2", "--node-rank=0", "--master-addr=10.0.0.1", "--master-port=8400", "-tp=8"),
            range(1),
            False,
            ("gathers", 1),
        ),
        (
            ("--nnodes=2", "--node-rank=1", "--master-addr=10.0.0.1", "--master-port=8400", "-tp=8", "--headless"),
            range(1),
            True,
            "joins",
        ),
    ],
)
def test_ranks_and_partners_follow_from_vllms_flags(words, ranks, headless, others):
    found = serve(*words)
    assert (found.ranks, found.headless) == (ranks, headless)
    place = found.gather or found.join
    assert place is None or (place.host, place.port) == ("10.0.0.1", 8400)
    assert (("gathers", found.gather_count) if found.gather else "joins" if found.join else None) == others


def test_what_is_served_and_where():
    found = serve("--served-model-name=tiny", "--host=10.0.0.1", "--port=6100", "--max-model-len=1k")
    assert (found.model, found.served_name, found.host, found.port) == ("/m", "tiny", "10.0.0.1", 6100)
    assert (found.personality, found.name) == ("vllm", "w")


def test_a_file_of_flags_is_read_and_flags_count_more(tmp_path):
    file = tmp_path / "vllm.yaml"
    said = {"data-parallel-size": 4, "enforce-eager": True, "enable-prefix-caching": False, "port": 1}
    file.write_text(json.dumps({**said, "kv-transfer-config": {"kv_connector": "NixlConnector", "kv_role": "kv_both"}}))
    found = serve("--config", str(file), "--port=6100")
    assert (found.ranks, found.port, found.transfer is None) == (range(4), 6100, False)


@pytest.mark.parametrize("text", [None, "{", '{"no-such-flag": 1}'])
def test_a_file_that_is_none_or_has_no_flags_ends_it(text, tmp_path, capsys):
    file = tmp_path / "vllm.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SystemExit) as ended:
        serve("--config", str(file))
    assert ended.value.code == 2
    assert "vllm: error:" in capsys.readouterr().err


EVENTS = '--kv-events-config={"enable_kv_cache_events":true,"endpoint":"tcp://*:1"}'
OLDER = VLLM.with_name("0.20.2.json")


def test_what_leaves_by_other_ways() -> None:
    assert serve("--grpc").grpc
    assert (serve().render, serve("--enable-scale-out").render) == (False, True)
    assert not serve().grpc
    told = serve(EVENTS).events
    assert told is not None
    assert (told.endpoint, told.maps) == ("tcp://*:1", True)
    assert serve(EVENTS, "--no-enable-prefix-caching").events is None
    older = settings(undisguised(["--as", "vllm", f"--catalogue={OLDER}", "--", "vllm", "serve", "/m", EVENTS], {}))
    assert older.events is not None
    assert (older.events.maps, older.render) == (False, True)


SGLANG = ROOT / "manifests" / "flags" / "sglang" / "0.5.23.json"


def sglang(*words: str) -> Settings:
    own = ("python3", "-m", "sglang.launch_server", "--model-path=/m", *words)
    return settings(undisguised(["--as", "sglang", f"--catalogue={SGLANG}", "--", *own], {}))


def test_sglangs_parts_ranks_and_partners() -> None:
    prefill = sglang("--disaggregation-mode=prefill", "--disaggregation-bootstrap-port=7200", "--tp=8")
    assert (prefill.personality, prefill.mode, prefill.bootstrap_port) == ("sglang", "prefill", 7200)
    assert sglang("--tp-size=8", "--attn-dp-size=8").ranks == range(8)
    assert sglang("--tp-size=8", "--dp-size=4", "--enable-dp-attention").ranks == range(4)
    init = "--dist-init-addr=10.0.0.1:8300"
    first, other = (sglang("--tp-size=8", "--nnodes=2", f"--node-rank={rank}", init) for rank in (0, 1))
    assert (first.headless, first.gather_count, other.headless) == (False, 1, True)
    assert first.gather == other.join
    with pytest.raises(SystemExit):
        sglang("--tp-size=8", "--attn-dp-size=3")


def test_what_leaves_sglang_by_other_ways() -> None:
    assert sglang("--smg-grpc-mode").grpc
    told = sglang('--kv-events-config={"publisher":"zmq","endpoint":"tcp://*:1","topic":"x"}').events
    assert told is not None
    assert (told.topic, told.maps) == ("x", False)


def test_failures_are_ordered_by_the_environment():
    assert serve(SIM_FLAGS="--fail-after 3 --exit-code 7").orders.exit_code == 7


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--no-such-flag"], "vllm: error: unrecognized arguments: --no-such-flag"),
        (["--port=abc"], "vllm: error: argument --port: invalid int value: 'abc'"),
        (['--kv-events-config={"publisher":"redis"}'], "publisher: one of null, zmq is wanted"),
        (["--headless", "--data-parallel-hybrid-lb"], "vllm: error: data_parallel_hybrid_lb is not applicable"),
        (['--kv-transfer-config={"kv_connector":"NixlConnector","nope":1}'], "nope: Unexpected keyword argument"),
    ],
)
def test_what_the_engine_would_refuse_ends_it(words, text, capsys):
    with pytest.raises(SystemExit) as ended:
        serve(*words)
    assert ended.value.code == 2
    assert text in capsys.readouterr().err


def test_a_catalogue_that_is_not_there_is_said(capsys):
    with pytest.raises(SystemExit):
        undisguised(["--as", "vllm", "--catalogue=/nowhere.json", "--", "vllm", "serve", "m"], {})
    assert "argument --catalogue" in capsys.readouterr().err


def test_servers_of_a_replica_wait_for_each_other(start: Start) -> None:
    (port,) = ports(1)
    place = f"127.0.0.1:{port}"
    first = start.run([*WORKER, "--gather", place, "--gather-count", "1"])
    until(lambda: "waits for 1" in first.text, "the first server")
    assert "speaks" not in first.text
    second = start.run([*WORKER, "--headless", "--join", place, "--name", "second"])
    until(lambda: "second follows" in second.text, "the follower")
    until(lambda: "speaks" in first.text, "the first server's API")
    assert second.end() == 0


def test_a_follower_comes_when_it_likes_and_ends_when_told(start: Start) -> None:
    (port,) = ports(1)
    follower = start.run([*WORKER, "--headless", "--join", f"127.0.0.1:{port}"])
    until(lambda: "joins" in follower.text, "the follower")
    time.sleep(0.3)
    with socket.create_server(("127.0.0.1", port)) as listening:
        listening.accept()[0].close()
    until(lambda: "follows" in follower.text, "the follower")
    assert follower.end() == 0
    lonely = start.run([*WORKER, "--headless", "--join", f"127.0.0.1:{port}"])
    until(lambda: "joins" in lonely.text, "the lonely one")
    assert lonely.end() == 0
