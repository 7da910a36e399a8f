"""KV events as the EPP hears them: one socket that it binds, and a topic that names an endpoint and a model."""

import threading
from collections import Counter
from typing import Any

import msgspec
import zmq

from tests.llm_d.reading import Configuration
from tests.llm_d.words import BLOCKS, Wrong

PRODUCER = "precise-prefix-cache-producer"


class Heard:
    """Blocks by endpoint and model, and the prompts they are of: each by all its tokens up to the end of a block."""

    def __init__(self) -> None:
        self.blocks = Counter[tuple[str, str]]()
        self._ends: dict[str, dict[Any, tuple[int, ...]]] = {}

    def share(self, endpoint: str, tokens: list[int], size: int) -> float:
        """How much of the prompt an endpoint holds, in whole blocks of so many tokens."""
        held = set(self._ends.get(endpoint, {}).values())
        ends = range(size, len(tokens) + 1, size)
        count = next((number for number, end in enumerate(ends) if tuple(tokens[:end]) not in held), len(ends))
        return count / max(len(ends), 1)

    def take(self, frames: list[bytes]) -> None:
        """One message: topic, number, batch. What the EPP cannot read it passes over, and so does this."""
        if len(frames) != 3 or len(frames[1]) < 8:
            return
        # A topic of another shape names nobody (`engineadapter/common.go`).
        parts = frames[0].decode().split("@")
        endpoint, model = (parts[1], parts[2]) if len(parts) == 3 else (frames[0].decode(), "")
        for event in msgspec.msgpack.decode(frames[2])[1]:
            if _of(event, "type", 0) == "BlockStored":
                self._store(endpoint, event)
                self.blocks[endpoint, model] += len(_of(event, "block_hashes", 1))

    def _store(self, endpoint: str, event: Any) -> None:
        ends, size = self._ends.setdefault(endpoint, {}), _of(event, "block_size", 4)
        tokens = ends.get(_of(event, "parent_block_hash", 2), ())
        for number, name in enumerate(_of(event, "block_hashes", 1)):
            tokens = (*tokens, *_of(event, "token_ids", 3)[number * size : (number + 1) * size])
            ends[name] = tokens

    def text(self) -> str:
        """As Prometheus reads it."""
        counted = sorted(self.blocks.items())
        return "".join(f'{BLOCKS}{{endpoint="{at}",model="{model}"}} {count}\n' for (at, model), count in counted)


def _of(event: Any, name: str, place: int) -> Any:
    """A field of an event, which vLLM before 0.24 writes as an array."""
    return event[name] if isinstance(event, dict) else event[place]


def listen(made: Configuration, heard: Heard) -> None:
    """Binds where the configuration says, and listens for ever. Raises Wrong."""
    for name, kind in made.types.items():
        if kind != PRODUCER:
            continue
        config = made.parameters[name].get("kvEventsConfig", {})
        if config.get("discoverPods", True) or not config.get("zmqEndpoint"):
            raise Wrong("this stand-in dials nobody: kvEventsConfig wants zmqEndpoint and discoverPods false")
        socket: Any = zmq.Context.instance().socket(zmq.SUB)
        socket.subscribe(config.get("topicFilter", "kv@"))
        try:
            socket.bind(config["zmqEndpoint"])
        except zmq.ZMQError as fault:
            raise Wrong(f"Failed to bind subscriber socket: {fault}") from fault
        threading.Thread(target=_hear, args=(socket, heard), daemon=True).start()


def _hear(socket: Any, heard: Heard) -> None:
    while True:
        heard.take(socket.recv_multipart())
