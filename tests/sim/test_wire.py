"""The wire of both engines, asked of running workers."""

import socket
from collections.abc import Mapping
from typing import Any

import pytest

from launcher.sim.text import MAX_MODEL_LEN
from tests.sim.processes import Answer, Program, Start

ENGINES = ("vllm", "sglang")


@pytest.fixture(scope="module")
def workers(shared: Start) -> Mapping[str, Program]:
    """One worker of each personality."""
    return {engine: shared("--personality", engine, "--name", f"{engine}-0", "--dp-size", "2") for engine in ENGINES}


@pytest.fixture(params=ENGINES)
def worker(request: pytest.FixtureRequest, workers: Mapping[str, Program]) -> Program:
    """Each of them in turn."""
    return workers[request.param]


PAGES: list[tuple[str, str, int, Mapping[str, Any]]] = [
    ("vllm", "/health", 200, {}),
    ("vllm", "/ping", 200, {}),
    ("vllm", "/v1/models", 200, {"object": "list"}),
    ("vllm", "/version", 200, {"version": "0.1.0+sim"}),
    ("vllm", "/load", 200, {"server_load": 0}),
    ("vllm", "/server_info", 404, {"detail": "Not Found"}),
    ("vllm", "/model_info", 404, {"detail": "Not Found"}),
    ("vllm", "/v1/loads", 404, {"detail": "Not Found"}),
    ("vllm", "/v1/completions", 405, {"detail": "Method Not Allowed"}),
    ("sglang", "/health", 200, {}),
    ("sglang", "/health_generate", 200, {}),
    ("sglang", "/v1/models", 200, {"object": "list"}),
    ("sglang", "/v1/models/tiny", 200, {"id": "tiny", "owned_by": "sglang"}),
    ("sglang", "/version", 404, {"detail": "Not Found"}),
    ("sglang", "/model_info", 200, {"served_model_name": "tiny", "is_generation": True, "disaggregation_mode": "null"}),
    ("sglang", "/get_model_info", 200, {"served_model_name": "tiny"}),
    ("sglang", "/server_info", 200, {"served_model_name": "tiny", "tp_size": 1, "dp_size": 2, "version": "0.1.0+sim"}),
    ("sglang", "/get_server_info", 200, {"served_model_name": "tiny", "disaggregation_mode": "null"}),
    ("sglang", "/v1/loads", 200, {"dp_rank_count": 2, "version": "0.1.0+sim"}),
    ("sglang", "/loads", 404, {"detail": "Not Found"}),
    ("sglang", "/generate", 405, {"detail": "Method Not Allowed"}),
]


@pytest.mark.parametrize(("engine", "path", "status", "fields"), PAGES)
def test_page(workers: Mapping[str, Program], engine: str, path: str, status: int, fields: Mapping[str, Any]) -> None:
    answer = workers[engine].ask(path)
    assert answer.status == status
    assert answer.headers["x-sim-worker"] == f"{engine}-0"
    assert not fields or {key: answer.data[key] for key in fields} == fields


def test_model_card(worker: Program) -> None:
    (card,) = worker.ask("/v1/models").data["data"]
    assert (card["id"], card["max_model_len"]) == ("tiny", MAX_MODEL_LEN)
    assert worker.ask("/v1/models").headers["x-sim-worker"].startswith(card["owned_by"])


def test_post_to_a_page_is_not_allowed(worker: Program) -> None:
    answer = worker.ask("/health", {})
    assert (answer.status, answer.headers["allow"]) == (405, "GET")


COMPLETIONS: list[tuple[Any, Mapping[str, Any], list[str], list[str], tuple[int, int]]] = [
    ("a b c", {}, ["a b c"], ["stop"], (3, 3)),
    ("a b c", {"max_tokens": 2}, ["a b"], ["length"], (3, 2)),
    ("a b c", {"max_tokens": None}, ["a b c"], ["stop"], (3, 3)),
    (" a\n b ", {"max_tokens": 5, "ignore_eos": True}, ["a b a b a"], ["length"], (2, 5)),
    ("a", {"min_tokens": 3}, ["a a a"], ["stop"], (1, 3)),
    ("a b c", {"stop": "c"}, ["a b "], ["stop"], (3, 3)),
    ("a b c", {"stop": ["x", "b"]}, ["a "], ["stop"], (3, 2)),
    ("", {}, ["sim"], ["stop"], (0, 1)),
    ("naïve Σ", {}, ["naïve Σ"], ["stop"], (2, 2)),
    ("half \ud800", {}, ["half ?"], ["stop"], (2, 2)),
    (["a b", "c"], {}, ["a b", "c"], ["stop", "stop"], (3, 3)),
    ([5, 7], {}, ["t5 t7"], ["stop"], (2, 2)),
    ([[5], [7, 8]], {}, ["t5", "t7 t8"], ["stop", "stop"], (3, 3)),
    ("a b", {"n": 2, "max_tokens": 1}, ["a", "a"], ["length", "length"], (2, 2)),
    (" ".join(["w"] * 20), {}, [" ".join(["w"] * 16)], ["length"], (20, 16)),
]


@pytest.mark.parametrize(("prompt", "more", "texts", "reasons", "tokens"), COMPLETIONS)
def test_completion(
    worker: Program, prompt: Any, more: Mapping[str, Any], texts: list[str], reasons: list[str], tokens: tuple[int, int]
) -> None:
    whole = worker.complete(prompt, **more)
    assert whole.status == 200
    assert [choice["text"] for choice in whole.data["choices"]] == texts
    assert [choice["finish_reason"] for choice in whole.data["choices"]] == reasons
    assert whole.data["usage"] == usage(*tokens)
    stream = worker.complete(prompt, **more, stream=True, stream_options={"include_usage": True})
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert joined(stream, len(texts), lambda choice: choice["text"]) == texts
    assert stream.events[-1]["choices"] == []
    assert stream.events[-1]["usage"] == usage(*tokens)


def usage(prompt: int, generated: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": generated, "total_tokens": prompt + generated}


def joined(stream: Answer, count: int, text: Any) -> list[str]:
    """The text of each choice of a stream; each must end once, with its last piece."""
    texts, ended = [""] * count, [0] * count
    for choice in (choice for event in stream.events for choice in event["choices"]):
        assert not ended[choice["index"]]
        texts[choice["index"]] += text(choice)
        ended[choice["index"]] += choice["finish_reason"] is not None
    assert ended == [1] * count
    return texts


def test_answer_names_its_worker(worker: Program) -> None:
    answer = worker.complete()
    name = answer.headers["x-sim-worker"]
    assert answer.data["system_fingerprint"] == answer.data["sim"]["worker"] == name
    assert answer.data["sim"]["recomputed"] is answer.data["sim"]["handed_over"] is False
    for event in worker.complete(stream=True).events:
        assert event["sim"]["worker"] == name


MESSAGES: list[tuple[Any, str, int]] = [
    ([{"role": "user", "content": "a b"}], "a b", 2),
    ([{"role": "system", "content": "be"}, {"role": "user", "content": "nice"}], "be nice", 2),
    ([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}]}], "a", 1),
    ([{"role": "assistant", "content": None, "tool_calls": []}], "sim", 0),
]


@pytest.mark.parametrize(("messages", "text", "tokens"), MESSAGES)
def test_chat(worker: Program, messages: Any, text: str, tokens: int) -> None:
    asked = {"model": "tiny", "messages": messages}
    whole = worker.ask("/v1/chat/completions", asked).data
    assert whole["object"] == "chat.completion"
    assert whole["choices"][0]["message"] == {"role": "assistant", "content": text}
    assert whole["usage"]["prompt_tokens"] == tokens
    stream = worker.ask("/v1/chat/completions", {**asked, "stream": True})
    assert stream.events[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert joined(stream, 1, lambda choice: choice["delta"]["content"]) == [text]
    assert not any("usage" in event for event in stream.events)


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_chat_obeys_its_limit(worker: Program, name: str) -> None:
    choice = worker.chat("a b c", **{name: 2}).data["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("a b", "length")


def test_usage_on_every_chunk(worker: Program) -> None:
    options = {"include_usage": True, "continuous_usage_stats": True}
    events = worker.chat("a b", stream=True, stream_options=options).events
    assert [event["usage"]["completion_tokens"] for event in events] == [0, 1, 2, 2]


PROBLEMS: list[tuple[str, Any, int, str]] = [
    ("/v1/completions", b"{", 400, "JSON decode error"),
    ("/v1/completions", b"\xff", 400, "JSON decode error"),
    ("/v1/completions", b"[" * 100_000, 400, "JSON decode error"),
    ("/v1/completions", [], 400, "valid dictionary"),
    ("/v1/completions", {"model": "tiny"}, 400, "prompt"),
    ("/v1/completions", {"prompt": []}, 400, "prompt"),
    ("/v1/completions", {"prompt": [1, "a"]}, 400, "prompt"),
    ("/v1/completions", {"prompt": "a", "model": 3}, 400, "model"),
    ("/v1/completions", {"prompt": "a", "max_tokens": 0}, 400, "max_tokens must be at least 1, got 0"),
    ("/v1/completions", {"prompt": "a", "max_tokens": True}, 400, "max_tokens"),
    ("/v1/completions", {"prompt": "a", "max_tokens": "9"}, 400, "max_tokens"),
    ("/v1/completions", {"prompt": "a", "max_tokens": 2, "min_tokens": 3}, 400, "min_tokens"),
    ("/v1/completions", {"prompt": "a", "max_tokens": MAX_MODEL_LEN}, 400, "maximum context length is 32768"),
    ("/v1/completions", {"prompt": "a", "stream": "yes"}, 400, "stream"),
    ("/v1/completions", {"prompt": "a", "n": 0}, 400, "n must be at least 1"),
    ("/v1/completions", {"prompt": "a", "n": 129}, 400, "n must be at most 128"),
    ("/v1/completions", {"prompt": "a", "stop": 3}, 400, "stop"),
    ("/v1/completions", {"prompt": "a", "stream_options": 3}, 400, "stream_options"),
    ("/v1/chat/completions", {"messages": []}, 400, "messages"),
    ("/v1/chat/completions", {"messages": [{"content": "a"}]}, 400, "role"),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": 3}]}, 400, "content"),
]


@pytest.mark.parametrize(("path", "data", "status", "text"), PROBLEMS)
def test_problem(workers: Mapping[str, Program], path: str, data: Any, status: int, text: str) -> None:
    vllm = workers["vllm"].ask(path, data)
    assert (vllm.status, vllm.data["error"]["code"]) == (status, status)
    assert text in vllm.data["error"]["message"]
    sglang = workers["sglang"].ask(path, data)
    assert (sglang.status, sglang.data["code"], sglang.data["object"]) == (status, status, "error")
    assert text in sglang.data["message"]


def test_body_must_be_json_by_its_type(worker: Program) -> None:
    answer = worker.ask("/v1/completions", b'{"prompt": "a"}', {"content-type": "text/plain"})
    assert answer.status == 400
    assert b"application/json" in answer.body


def test_vllm_knows_its_models(workers: Mapping[str, Program]) -> None:
    answer = workers["vllm"].ask("/v1/completions", {"model": "other", "prompt": "a"})
    error = {"message": "The model `other` does not exist.", "type": "NotFoundError", "param": "model", "code": 404}
    assert (answer.status, answer.data) == (404, {"error": error})


def test_sglang_answers_for_any_model(workers: Mapping[str, Program]) -> None:
    answer = workers["sglang"].ask("/v1/completions", {"model": "other", "prompt": "a"})
    assert (answer.status, answer.data["model"]) == (200, "other")


def test_generate(workers: Mapping[str, Program]) -> None:
    worker = workers["sglang"]
    (one,) = [worker.ask("/generate", {"text": "a b c", "sampling_params": {"max_new_tokens": 2}}).data]
    assert one["text"] == "a b"
    assert one["meta_info"]["finish_reason"] == {"type": "length", "length": 2}
    assert (one["meta_info"]["prompt_tokens"], one["meta_info"]["completion_tokens"]) == (3, 2)
    many = worker.ask("/generate", {"input_ids": [[1], [2, 3]]}).data
    assert [table["text"] for table in many] == ["t1", "t2 t3"]
    stream = worker.ask("/generate", {"text": "a b", "stream": True}).events
    assert [event["text"] for event in stream] == ["a", "a b"]
    assert workers["vllm"].ask("/generate", {"text": "a"}).status == 404


def test_request_id_is_kept(workers: Mapping[str, Program]) -> None:
    answer = workers["vllm"].ask("/v1/completions", {"prompt": "a"}, {"X-Request-Id": "r 1?é"})
    assert answer.data["id"] == "cmpl-r 1?é"


@pytest.mark.parametrize(("engine", "header", "body"), [("vllm", "1", {}), ("sglang", "", {"routed_dp_rank": 1})])
def test_rank_is_asked_for(workers: Mapping[str, Program], engine: str, header: str, body: Mapping[str, int]) -> None:
    headers = {"X-data-parallel-rank": header} if header else {}
    asked = {"model": "tiny", "prompt": "a", **body}
    assert {workers[engine].ask("/v1/completions", asked, headers).data["sim"]["rank"] for _ in range(3)} == {1}


def test_ranks_take_turns(worker: Program) -> None:
    assert sorted(worker.complete().data["sim"]["rank"] for _ in range(4)) == [0, 0, 1, 1]


def test_rank_out_of_range(workers: Mapping[str, Program]) -> None:
    answer = workers["vllm"].ask("/v1/completions", {"prompt": "a"}, {"X-data-parallel-rank": "2"})
    assert (answer.status, answer.data["error"]["message"]) == (400, "data_parallel_rank 2 is out of range [0, 2).")


def spoken(port: int, *parts: bytes) -> bytes:
    """What a client reads that sends `parts` and then waits for the end."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
        for part in parts:
            sock.sendall(part)
        return b"".join(iter(lambda: sock.recv(65536), b""))


CLOSE = b"connection: close\r\n"


def test_one_connection_serves_many_requests(worker: Program) -> None:
    one = b"GET /v1/models HTTP/1.1\r\nhost: x\r\n"
    answers = spoken(worker.port, one + b"\r\n" + one + b"\r\n", one + CLOSE + b"\r\n")
    assert answers.count(b"HTTP/1.1 200 OK") == 3


def test_continue_is_granted(worker: Program) -> None:
    head = b"POST /v1/completions HTTP/1.1\r\ncontent-type: application/json\r\n"
    rest = CLOSE + b"expect: 100-continue\r\ncontent-length: 14\r\n\r\n"
    answers = spoken(worker.port, head + rest, b'{"prompt":"a"}')
    assert answers.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")


def test_chunked_body(worker: Program) -> None:
    head = b"POST /v1/completions HTTP/1.1\r\ncontent-type: application/json\r\n" + CLOSE
    answers = spoken(
        worker.port, head + b"transfer-encoding: chunked\r\n\r\n5\r\n", b'{"pro\r\n9\r\nmpt":"a"}\r\n0\r\n\r\n'
    )
    assert b"HTTP/1.1 200 OK" in answers


def test_old_client_reads_a_stream_to_its_end(worker: Program) -> None:
    body = b'{"prompt":"a b","stream":true}'
    head = b"POST /v1/completions HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    head, _, events = spoken(worker.port, head + body).partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head
    assert events.startswith(b"data: {")
    assert events.endswith(b"data: [DONE]\n\n")


def test_broken_request_is_answered_and_the_connection_closed(worker: Program) -> None:
    assert spoken(worker.port, b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_head_has_no_body(worker: Program) -> None:
    answer = spoken(worker.port, b"HEAD /health HTTP/1.1\r\n" + CLOSE + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 405 ")
    assert answer.endswith(b"\r\n\r\n")
