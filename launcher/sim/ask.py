"""What a client asks for: JSON bodies of three wires → one `Ask`, or a Problem that says what is wrong."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from launcher.sim.message import Request
from launcher.sim.text import MAX_MODEL_LEN, Limits, words

NATIVE_TOKENS = 128
"""`max_new_tokens` of SGLang's own wire where the client gives none (SGLang 0.5.23)."""
MOST_ANSWERS = 128
"""Answers to one prompt that a client may ask for."""
COMPLETION_TOKENS = 16
"""`max_tokens` of a completion where the client gives none (OpenAI; vLLM 0.32.0, SGLang 0.5.23)."""


class Problem(Exception):
    """A request that is answered with an error. `kind` is the engines' error type."""

    def __init__(self, status: int, message: str, kind: str = "BadRequestError", param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.param = param


@dataclass(frozen=True)
class Ask:
    """One request for text: prompts as tokens, `count` answers to each. `raw` is the whole body."""

    model: str | None
    prompts: tuple[tuple[str, ...], ...]
    limits: Limits
    count: int = 1
    stream: bool = False
    usage: bool = False
    usage_always: bool = False
    batch: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict)

    @property
    def prompt_tokens(self) -> int:
        """Tokens of all prompts."""
        return sum(len(prompt) for prompt in self.prompts)


def parsed(request: Request) -> dict[str, Any]:
    """The JSON object in the body of `request`."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(400, "Unsupported Media Type: Only 'application/json' is allowed", "Bad Request")
    try:
        data = json.loads(request.body)
    except (ValueError, RecursionError) as fault:
        raise Problem(400, f"1 validation error:\n  JSON decode error: {fault}", "Bad Request") from fault
    if not isinstance(data, dict):
        raise Problem(400, "1 validation error:\n  Input should be a valid dictionary", "Bad Request", "body")
    return data


def completion(raw: Mapping[str, Any]) -> Ask:
    """The body of `/v1/completions`."""
    prompts, batch = _prompts(raw.get("prompt"), "prompt")
    most = _integer(raw, "max_tokens", 1)
    return _ask(raw, prompts, COMPLETION_TOKENS if most is None else most, batch=batch)


def tokens(raw: Mapping[str, Any]) -> Ask:
    """What comes over gRPC, under the names of `/v1/completions`: one prompt as token ids."""
    prompts, _ = _prompts(raw.get("prompt"), "prompt")
    return _ask(raw, prompts, _integer(raw, "max_tokens", 1), batch=False)


def chat(raw: Mapping[str, Any]) -> Ask:
    """The body of `/v1/chat/completions`."""
    messages = raw.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Problem(400, "messages: a list of at least one message is wanted", param="messages")
    prompt = tuple(word for message in messages for word in words(_content(message)))
    most = _integer(raw, "max_completion_tokens", 1)
    if most is None:
        most = _integer(raw, "max_tokens", 1)
    return _ask(raw, (prompt,), most, batch=False)


def native(raw: Mapping[str, Any]) -> Ask:
    """The body of SGLang's `/generate`: its sampling parameters are a table of their own."""
    params = raw.get("sampling_params") or {}
    if not isinstance(params, dict):
        raise Problem(400, "sampling_params: a table is wanted", param="sampling_params")
    given = "text" if raw.get("text") is not None else "input_ids"
    prompts, batch = _prompts(raw.get(given), given)
    most = _integer(params, "max_new_tokens", 1)
    flat = {**params, "stream": raw.get("stream"), "min_tokens": params.get("min_new_tokens")}
    ask = _ask(flat, prompts, NATIVE_TOKENS if most is None else most, batch=batch)
    return Ask(None, ask.prompts, ask.limits, ask.count, ask.stream, batch=batch, raw=raw)


def _ask(raw: Mapping[str, Any], prompts: tuple[tuple[str, ...], ...], most: int | None, *, batch: bool) -> Ask:
    limits = Limits(most, _integer(raw, "min_tokens", 0) or 0, _flag(raw, "ignore_eos"), _stops(raw.get("stop")))
    _fits(prompts, limits)
    options = raw.get("stream_options") or {}
    if not isinstance(options, dict):
        raise Problem(400, "stream_options: a table is wanted", param="stream_options")
    model = raw.get("model")
    if model is not None and not isinstance(model, str):
        raise Problem(400, "model: text is wanted", param="model")
    count = _integer(raw, "n", 1) or 1
    if count > MOST_ANSWERS:
        raise Problem(400, f"n must be at most {MOST_ANSWERS}, got {count}.", param="n")
    return Ask(
        model=model,
        prompts=prompts,
        limits=limits,
        count=count,
        stream=_flag(raw, "stream"),
        usage=_flag(options, "include_usage"),
        usage_always=_flag(options, "continuous_usage_stats"),
        batch=batch,
        raw=raw,
    )


def _fits(prompts: Sequence[Sequence[str]], limits: Limits) -> None:
    """Prompt and answer must fit the context, as the engines want it."""
    if limits.most is not None and limits.least > limits.most:
        raise Problem(
            400, f"min_tokens must be at most max_tokens={limits.most}, got {limits.least}", param="min_tokens"
        )
    for prompt in prompts:
        wanted = max(limits.most or 1, limits.least)
        if len(prompt) + wanted > MAX_MODEL_LEN:
            raise Problem(
                400,
                f"This model's maximum context length is {MAX_MODEL_LEN} tokens. However, you requested "
                f"{len(prompt)} input tokens and {wanted} output tokens.",
            )


def _prompts(value: Any, name: str) -> tuple[tuple[tuple[str, ...], ...], bool]:
    """Prompts as tokens, and whether several were given as a batch. Token ids become `t1`, `t2`."""
    if isinstance(value, str):
        return (words(value),), False
    if isinstance(value, list) and value:
        if all(whole(item) for item in value):
            return (_named(value),), False
        if all(isinstance(item, str) for item in value):
            return tuple(words(item) for item in value), True
        if all(isinstance(item, list) and item and all(whole(token) for token in item) for item in value):
            return tuple(_named(item) for item in value), True
    raise Problem(400, f"{name}: text, token ids, or a list of either is wanted", param=name)


def _named(tokens: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"t{token}" for token in tokens)


def number(piece: str) -> int:
    """The token id that a piece of an answer to token ids is named after."""
    return int(piece.strip().removeprefix("t"))


def _content(message: Any) -> str:
    """The text of one chat message; parts that are no text count for nothing."""
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise Problem(400, "messages: each wants a role", param="messages")
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        return " ".join(text for text in texts if isinstance(text, str))
    raise Problem(400, "messages: content is text or a list of parts", param="messages")


def whole(value: Any) -> bool:
    """Whether it is an integer, as JSON has them."""
    return isinstance(value, int) and not isinstance(value, bool)


def _integer(raw: Mapping[str, Any], name: str, least: int) -> int | None:
    value = raw.get(name)
    if value is None:
        return None
    if not whole(value):
        raise Problem(400, f"{name}: Input should be a valid integer", param=name)
    if value < least:
        raise Problem(400, f"{name} must be at least {least}, got {value}.", param=name)
    return int(value)


def _flag(raw: Mapping[str, Any], name: str) -> bool:
    value = raw.get(name)
    if value is not None and not isinstance(value, bool):
        raise Problem(400, f"{name}: Input should be a valid boolean", param=name)
    return bool(value)


def _stops(value: Any) -> tuple[str, ...]:
    found = [value] if isinstance(value, str) else value or []
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise Problem(400, "stop: text or a list of texts is wanted", param="stop")
    return tuple(found)
