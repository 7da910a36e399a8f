"""KV events: what an engine is told of them, where each rank sends them, and how they are written.

vLLM as of 0.32.0 (`config/kv_events.py`, `distributed/kv_events.py`): a publisher binds where its endpoint has a `*` or
`::` or is `ipc://` or `inproc://`, and connects elsewhere; a TCP port other than 0 grows by the number of the rank, in
both cases and for replays too. An event is a map from 0.24 on (vLLM pull request 42892) and was an array before; the
batch around it is an array. SGLang as of 0.5.23 (`disaggregation/kv_events.py`): the same ports, arrays, and 0.0.0.0 is
bound too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from launcher.sim.blocks import BLOCK, Cleared, Event, Removed, Stored

_OWN = {"vllm": frozenset(("enable_kv_cache_events",)), "sglang": frozenset(("format", "bind"))}
_KEYS = frozenset(("publisher", "endpoint", "replay_endpoint", "buffer_steps", "hwm", "max_queue_size", "topic"))
_PUBLISHERS = ("null", "zmq")
_TAGS = {Stored: "BlockStored", Removed: "BlockRemoved", Cleared: "AllBlocksCleared"}
_MEDIUM = "GPU"


@dataclass(frozen=True)
class Events:
    """Where events go; `maps` says that each is written as a map."""

    endpoint: str = "tcp://*:5557"
    replay_endpoint: str | None = None
    buffer_steps: int = 10_000
    hwm: int = 100_000
    max_queue_size: int = 100_000
    topic: str = ""
    maps: bool = True
    everywhere: bool = False
    bind: bool | None = None

    def of(self, rank: int) -> "Events":
        """The same for one rank."""
        replay = self.replay_endpoint and _moved(self.replay_endpoint, rank)
        return Events(**{**asdict(self), "endpoint": _moved(self.endpoint, rank), "replay_endpoint": replay})

    @property
    def binds(self) -> bool:
        """Whether a publisher listens at the endpoint; else it connects to who listens there."""
        if self.bind is not None:
            return self.bind
        if self.everywhere and "0.0.0.0" in self.endpoint:  # noqa: S104  a part of the user's text
            return True
        return "*" in self.endpoint or "::" in self.endpoint or self.endpoint.startswith(("ipc://", "inproc://"))

    @property
    def told(self) -> dict[str, Any]:
        """What vLLM's `/kv_event_sources` tells of a publisher."""
        kept = asdict(self)
        shown = {name: kept[name] for name in ("endpoint", "replay_endpoint", "buffer_steps", "hwm", "max_queue_size")}
        return {"enable_kv_cache_events": True, "publisher": "zmq", **shown, "topic": self.topic}


def parse(raw: Any, personality: str, *, arrays: bool) -> Events | None:
    """The Events that a JSON value asks for, None where it switches them off. Raises ValueError as the engine would
    refuse it.
    """
    if not isinstance(raw, dict):
        raise ValueError("a JSON object is wanted")
    _fits(raw, personality)
    sglang = personality == "sglang"
    on = sglang or bool(raw.get("enable_kv_cache_events"))
    if not on or (raw.get("publisher") or ("null" if sglang else "zmq")) == "null":
        return None
    own = {name: raw[name] for name in _KEYS - {"publisher"} if raw.get(name) is not None}
    return Events(**own, maps=not (arrays or sglang), everywhere=sglang, bind=raw.get("bind"))


def _fits(raw: Mapping[str, Any], personality: str) -> None:
    for key, value in raw.items():
        if key not in _KEYS | _OWN.get(personality, frozenset()):
            raise ValueError(f"{key}: Unexpected keyword argument")
        wanted = int if key in ("buffer_steps", "hwm", "max_queue_size") else str
        if key in _KEYS and value is not None and (not isinstance(value, wanted) or isinstance(value, bool)):
            raise ValueError(f"{key}: {'a whole number' if wanted is int else 'text'} is wanted")
    if raw.get("publisher") not in (None, *_PUBLISHERS):
        raise ValueError(f"publisher: one of {', '.join(_PUBLISHERS)} is wanted")
    for key in ("endpoint", "replay_endpoint"):
        _moved(raw.get(key) or "tcp://*:0", 1)


def _moved(endpoint: str, rank: int) -> str:
    """The endpoint of a rank. Raises ValueError where there is none."""
    if rank == 0:
        return endpoint
    if endpoint.startswith("inproc://"):
        return f"{endpoint}_dp{rank}"
    head, colon, port = endpoint.rpartition(":")
    if not endpoint.startswith("tcp://") or not colon or not port.isdecimal():
        raise ValueError(f"endpoint: `inproc://…` or `tcp://HOST:PORT` is wanted, not {endpoint!r}")
    return endpoint if int(port) == 0 else f"{head}:{int(port) + rank}"


def batch(events: Sequence[Event], rank: int, seconds: float, *, maps: bool) -> list[Any]:
    """One message of a rank: when, what and whose, ready to be encoded."""
    return [seconds, [_map(event) if maps else _array(event) for event in events], rank]


def _map(event: Event) -> dict[str, Any]:
    tag = {"type": _TAGS[type(event)]}
    if isinstance(event, Stored):
        return {
            **tag,
            "block_hashes": event.hashes,
            "parent_block_hash": event.parent,
            "token_ids": event.tokens,
            "block_size": BLOCK,
            "lora_id": None,
            "medium": _MEDIUM,
            "lora_name": None,
            "extra_keys": [None for _ in event.hashes],
            "group_idx": 0,
            "kv_cache_spec_kind": "full_attention",
        }
    if isinstance(event, Removed):
        return {**tag, "block_hashes": event.hashes, "medium": _MEDIUM, "group_idx": 0}
    return tag


def _array(event: Event) -> list[Any]:
    tag = _TAGS[type(event)]
    if isinstance(event, Stored):
        return [tag, event.hashes, event.parent, event.tokens, BLOCK, None, _MEDIUM, None]
    if isinstance(event, Removed):
        return [tag, event.hashes, _MEDIUM]
    return [tag]
