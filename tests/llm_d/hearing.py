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
    """Blocks by endpoint and model."""

    def __init__(self) -> None:
        self.blocks = Counter[tuple[str, str]]()

    def take(self, frames: list[bytes]) -> None:
        """One message: topic, number, batch. What the EPP cannot read it passes over, and so does this."""
        if len(frames) != 3 or len(frames[1]) < 8:
            return
        # A topic of another shape names nobody (`engineadapter/common.go`).
        parts = frames[0].decode().split("@")
        endpoint, model = (parts[1], parts[2]) if len(parts) == 3 else (frames[0].decode(), "")
        for event in msgspec.msgpack.decode(frames[2])[1]:
            if _of(event, "type", 0) == "BlockStored":
                self.blocks[endpoint, model] += len(_of(event, "block_hashes", 1))

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
