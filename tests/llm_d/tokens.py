"""Tokens of prompts, as a worker tells them (`token-producer`), held against what workers said that they hold."""

import json
import urllib.error
import urllib.request
from functools import lru_cache
from typing import Any

from tests.llm_d.hearing import PRODUCER, Heard
from tests.llm_d.reading import Configuration, Endpoint

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Prompts:
    """What the configuration says of tokens, and what was heard."""

    def __init__(self, configuration: Configuration, heard: Heard) -> None:
        said = {kind: configuration.parameters[name] for name, kind in configuration.types.items()}
        self._heard = heard
        self._url = said.get("token-producer", {}).get("vllm", {}).get("url")
        self._size = said.get(PRODUCER, {}).get("tokenProcessorConfig", {}).get("blockSizeTokens", 16)

    def share(self, endpoint: Endpoint, body: bytes) -> float:
        """How much of the prompt of a request an endpoint holds; none where nobody tells tokens."""
        tokens = rendered(self._url, body) if self._url and body else None
        return self._heard.share(endpoint.host, list(tokens), self._size) if tokens else 0.0


@lru_cache(maxsize=64)
def rendered(url: str, body: bytes) -> tuple[int, ...] | None:
    """The tokens of a request; None where the worker does not tell them, which the EPP passes over too."""
    kind = "chat/completions" if "messages" in json.loads(body) else "completions"
    asked = urllib.request.Request(f"{url}/v1/{kind}/render", body, {"content-type": "application/json"})
    try:
        with _OPENER.open(asked, timeout=5) as answer:
            told: Any = json.loads(answer.read())
    except urllib.error.URLError:
        return None
    return tuple((told[0] if isinstance(told, list) else told)["token_ids"])
