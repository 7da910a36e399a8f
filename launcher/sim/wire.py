"""Answers in three wires: OpenAI completions, OpenAI chat, SGLang's own `/generate`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from launcher.sim import NAME
from launcher.sim.ask import Ask
from launcher.sim.message import encode
from launcher.sim.text import Reply

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Stamp:
    """What every part of one answer says about it. `sim` is ours: which worker, and how the prompt got there."""

    id: str
    created: int
    model: str
    fingerprint: str
    sim: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Piece:
    """One token of one choice; `reason` is set on the last, `so_far` is the text up to it, `count` its tokens."""

    index: int
    text: str
    reason: str | None
    so_far: str
    count: int


class Wire(Protocol):
    """How one wire writes an answer. `batched` says that a request may have several prompts."""

    prefix: ClassVar[str]
    batched: ClassVar[bool]

    def whole(self, stamp: Stamp, ask: Ask, replies: Sequence[Reply], transfer: Mapping[str, Any] | None) -> Any:
        """The complete answer; `transfer` is vLLM's `kv_transfer_params`."""

    def opening(self, stamp: Stamp, ask: Ask, index: int) -> Mapping[str, Any] | None:
        """What a stream says of choice `index` before its first token."""

    def chunk(self, stamp: Stamp, ask: Ask, piece: Piece) -> Mapping[str, Any]:
        """One token in a stream."""

    def closing(self, stamp: Stamp, ask: Ask, generated: int) -> Mapping[str, Any] | None:
        """What a stream says after the last token."""


def event(data: Any) -> bytes:
    """One server-sent event."""
    return b"data: " + encode(data) + b"\n\n"


def usage(prompt: int, generated: int) -> dict[str, int]:
    """Token counts as OpenAI writes them."""
    return {"prompt_tokens": prompt, "total_tokens": prompt + generated, "completion_tokens": generated}


def _base(stamp: Stamp, kind: str, choices: Sequence[Any]) -> dict[str, Any]:
    return {
        "id": stamp.id,
        "object": kind,
        "created": stamp.created,
        "model": stamp.model,
        "choices": list(choices),
        "system_fingerprint": stamp.fingerprint,
        NAME: dict(stamp.sim),
    }


def _generated(replies: Sequence[Reply]) -> int:
    return sum(len(reply.pieces) for reply in replies)


class _OpenAI(Wire):
    """What completions and chat share."""

    prefix: ClassVar[str]
    batched: ClassVar[bool]
    kind: ClassVar[str]
    stream_kind: ClassVar[str]

    def choice(self, index: int, text: str, reason: str) -> dict[str, Any]:
        """One choice of a complete answer."""
        raise NotImplementedError

    def delta(self, piece: Piece) -> dict[str, Any]:
        """One choice of a stream."""
        raise NotImplementedError

    def whole(self, stamp: Stamp, ask: Ask, replies: Sequence[Reply], transfer: Mapping[str, Any] | None) -> Any:
        choices = [self.choice(index, reply.text, reply.reason) for index, reply in enumerate(replies)]
        data = _base(stamp, self.kind, choices)
        data["usage"] = usage(ask.prompt_tokens, _generated(replies))
        if transfer is not None:
            data["kv_transfer_params"] = dict(transfer)
        return data

    def chunk(self, stamp: Stamp, ask: Ask, piece: Piece) -> Mapping[str, Any]:
        data = _base(stamp, self.stream_kind, [self.delta(piece)])
        if ask.usage:
            data["usage"] = usage(ask.prompt_tokens, piece.count) if ask.usage_always else None
        return data

    def closing(self, stamp: Stamp, ask: Ask, generated: int) -> Mapping[str, Any] | None:
        if not ask.usage:
            return None
        return {**_base(stamp, self.stream_kind, []), "usage": usage(ask.prompt_tokens, generated)}


class Completions(_OpenAI):
    """`/v1/completions`."""

    prefix: ClassVar[str] = "cmpl-"
    batched: ClassVar[bool] = True
    kind: ClassVar[str] = "text_completion"
    stream_kind: ClassVar[str] = "text_completion"

    def choice(self, index: int, text: str, reason: str | None) -> dict[str, Any]:
        return {"index": index, "text": text, "logprobs": None, "finish_reason": reason, "stop_reason": None}

    def delta(self, piece: Piece) -> dict[str, Any]:
        return self.choice(piece.index, piece.text, piece.reason)

    def opening(self, stamp: Stamp, ask: Ask, index: int) -> Mapping[str, Any] | None:
        return None


class Chat(_OpenAI):
    """`/v1/chat/completions`."""

    prefix: ClassVar[str] = "chatcmpl-"
    batched: ClassVar[bool] = False
    kind: ClassVar[str] = "chat.completion"
    stream_kind: ClassVar[str] = "chat.completion.chunk"

    def choice(self, index: int, text: str, reason: str) -> dict[str, Any]:
        message = {"role": "assistant", "content": text}
        return {"index": index, "message": message, "logprobs": None, "finish_reason": reason, "stop_reason": None}

    def delta(self, piece: Piece) -> dict[str, Any]:
        content = {"content": piece.text}
        return {"index": piece.index, "delta": content, "logprobs": None, "finish_reason": piece.reason}

    def opening(self, stamp: Stamp, ask: Ask, index: int) -> Mapping[str, Any] | None:
        start = {"role": "assistant", "content": ""}
        choice = {"index": index, "delta": start, "logprobs": None, "finish_reason": None}
        data = _base(stamp, self.stream_kind, [choice])
        if ask.usage:
            data["usage"] = usage(ask.prompt_tokens, 0) if ask.usage_always else None
        return data


class Native(Wire):
    """SGLang's `/generate`: one table a prompt, and streams that repeat the text so far."""

    prefix: ClassVar[str] = ""
    batched: ClassVar[bool] = True

    def whole(self, stamp: Stamp, ask: Ask, replies: Sequence[Reply], transfer: Mapping[str, Any] | None) -> Any:
        tables = [
            self._table(stamp, ask, index, reply.text, (reply.reason, len(reply.pieces)))
            for index, reply in enumerate(replies)
        ]
        return tables if ask.batch or ask.count > 1 else tables[0]

    def opening(self, stamp: Stamp, ask: Ask, index: int) -> Mapping[str, Any] | None:
        return None

    def chunk(self, stamp: Stamp, ask: Ask, piece: Piece) -> Mapping[str, Any]:
        table = self._table(stamp, ask, piece.index, piece.so_far, (piece.reason, piece.count))
        return {**table, "index": piece.index} if ask.batch or ask.count > 1 else table

    def closing(self, stamp: Stamp, ask: Ask, generated: int) -> Mapping[str, Any] | None:
        return None

    def _table(self, stamp: Stamp, ask: Ask, index: int, text: str, end: tuple[str | None, int]) -> dict[str, Any]:
        reason, count = end
        finish = None if reason is None else {"type": reason, **({"length": count} if reason == "length" else {})}
        meta = {
            "id": stamp.id,
            "finish_reason": finish,
            "prompt_tokens": len(ask.prompts[index // ask.count]),
            "completion_tokens": count,
            "cached_tokens": 0,
            "weight_version": "default",
        }
        return {"text": text, "output_ids": [], "meta_info": meta, NAME: dict(stamp.sim)}
