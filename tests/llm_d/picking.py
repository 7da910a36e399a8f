"""Which endpoint a request goes to: filters, scorers and the picker of llm-d's guide, on metrics that were scraped."""

import re
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.llm_d.reading import DISAGGREGATED, Configuration, Endpoint
from tests.llm_d.words import Wrong

ROLE = "llm-d.ai/role"
STALE = 2.0
"""Seconds after which what was scraped counts no more (`--metrics-staleness-threshold`)."""

AFFINITY = "session-affinity-filter"
"""Keeps the endpoint that a session had before, where it is one of those left."""

SESSION = "session_id"
SCORER, PRODUCER = "prefix-cache-scorer", "precise-prefix-cache-producer"

_BLOCK = 64
_NEEDED = ("vllm:num_requests_waiting", "vllm:num_requests_running", "vllm:kv_cache_usage_perc")
_SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{[^}]*\})?\s+(\S+)", re.MULTILINE)
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass
class Seen:
    """What is known of an endpoint: summed samples, when they were read, when it was last picked, and its prefixes."""

    samples: dict[str, float] = field(default_factory=dict)
    read: float = 0.0
    picked: int = 0
    blocks: set[str] = field(default_factory=set)

    @property
    def fresh(self) -> bool:
        return time.monotonic() - self.read < STALE and all(name in self.samples for name in _NEEDED)


Share = Callable[[Endpoint, bytes], float]
"""How much of a request's prompt an endpoint says that it holds."""


class Picker:
    """All endpoints and what was seen of them."""

    def __init__(self, configuration: Configuration, endpoints: list[Endpoint], share: Share) -> None:
        self.configuration = configuration
        self._share = share
        self.endpoints = endpoints
        self.seen = {each.name: Seen() for each in endpoints}
        self._turn = 0
        self._bound: dict[str, str] = {}
        strange = {self._kind(name) for profile in configuration.profiles.values() for name, _ in profile} - KNOWN
        if strange:
            raise Wrong(f"this stand-in has no {sorted(strange)}")
        for name, kind in configuration.types.items():
            if kind == AFFINITY and configuration.parameters[name].get("strategy") != SESSION:
                raise Wrong(f"this stand-in has no {kind} of another strategy than {SESSION}")

    def ready(self) -> int:
        """How many endpoints have fresh metrics."""
        return sum(seen.fresh for seen in self.seen.values())

    def scrape(self, endpoint: Endpoint) -> None:
        """Reads an endpoint's metrics; one that does not answer goes stale."""
        try:
            with _OPENER.open(f"http://{endpoint.host}/metrics", timeout=1) as answer:
                text = answer.read().decode()
        except OSError:
            return
        sums: dict[str, float] = {}
        for name, value in _SAMPLE.findall(text):
            sums[name] = sums.get(name, 0.0) + float(value)
        self.seen[endpoint.name].samples, self.seen[endpoint.name].read = sums, time.monotonic()

    def pick(self, prompt: str, said: Mapping[str, str], body: bytes) -> tuple[Endpoint | None, Endpoint | None]:
        """Where a request with these headers goes, and which prefill worker its prompt."""
        session = self._session(said)
        if self.configuration.handler != DISAGGREGATED:
            (profile,) = self.configuration.profiles
            return self._run(profile, prompt, session, body), None
        decode = self._run("decode", prompt, session, body)
        return decode, self._run("prefill", prompt, "", body) if decode else None

    def _session(self, said: Mapping[str, str]) -> str:
        """What a request is bound by, where a plugin binds (`session_id`): the first of its headers."""
        for name, kind in self.configuration.types.items():
            if kind == AFFINITY:
                sources = self.configuration.parameters[name].get("sessionIdConfig", {}).get("sources", [])
                headers = [each["header"].lower() for each in sources] or ["x-session-id"]
                return next((said[header].strip() for header in headers if said.get(header, "").strip()), "")
        return ""

    def _kind(self, name: str) -> str:
        return self.configuration.types[name]

    def _run(self, profile: str, prompt: str, session: str, body: bytes) -> Endpoint | None:
        plugins = [(self._kind(name), weight) for name, weight in self.configuration.profiles[profile]]
        found = [each for each in self.endpoints if all(_passes(kind, each) for kind, _ in plugins)]
        if AFFINITY in [kind for kind, _ in plugins]:
            found = [each for each in found if each.name == self._bound.get(session)] or found
        if not found:
            return None
        blocks = {prompt[: end + _BLOCK] for end in range(0, len(prompt), _BLOCK)}
        scores = {each.name: 0.0 for each in found}
        for kind, weight in plugins:
            told = kind == SCORER and self._precise(profile)
            told_by = {each.name: self._share(each, body) for each in found} if told else {}
            for name, score in (told_by or self._scores(kind, found, blocks)).items():
                scores[name] += weight * score
        best = max(scores.values())
        # The EPP picks one of the best by chance; the one that was longest not picked is one of them.
        chosen = min(
            (each for each in found if scores[each.name] == best), key=lambda each: self.seen[each.name].picked
        )
        self._turn += 1
        self.seen[chosen.name].picked = self._turn
        self.seen[chosen.name].blocks |= blocks
        if session:
            self._bound[session] = chosen.name
        return chosen

    def _precise(self, profile: str) -> bool:
        """Whether the profile's prefixes are those that workers told."""
        named = [self.configuration.parameters[name] for name, _ in self.configuration.profiles[profile]]
        sources = {each.get("prefixMatchInfoProducerName") for each in named}
        return any(self.configuration.types.get(str(name)) == PRODUCER for name in sources)

    def _scores(self, kind: str, found: list[Endpoint], blocks: set[str]) -> dict[str, float]:
        names = [each.name for each in found]
        if kind == "queue-scorer":
            waiting = {name: self.seen[name].samples.get(_NEEDED[0], 0.0) for name in names}
            low, high = min(waiting.values()), max(waiting.values())
            return {name: 1.0 if high == low else (high - value) / (high - low) for name, value in waiting.items()}
        if kind == "kv-cache-utilization-scorer":
            return {name: 1.0 - self.seen[name].samples.get(_NEEDED[2], 0.0) for name in names}
        hits = {name: len(blocks & self.seen[name].blocks) / max(len(blocks), 1) for name in names}
        if kind == "prefix-cache-scorer":
            return hits
        if kind == "no-hit-lru-scorer":
            if any(hits.values()):
                return dict.fromkeys(names, 0.5)
            order = sorted(names, key=lambda name: self.seen[name].picked)
            return {name: 1.0 - index / max(len(order) - 1, 1) for index, name in enumerate(order)}
        return {}


def _passes(kind: str, endpoint: Endpoint) -> bool:
    role = endpoint.labels.get(ROLE)
    if kind == "decode-filter":
        return role in (None, "decode", "both", "prefill-decode", "encode-prefill-decode")
    if kind == "prefill-filter":
        return role in ("prefill", "prefill-decode", "encode-prefill", "encode-prefill-decode")
    return True


KNOWN = frozenset(
    (
        "queue-scorer", "kv-cache-utilization-scorer", "prefix-cache-scorer", "no-hit-lru-scorer",
        "max-score-picker", "decode-filter", "prefill-filter", AFFINITY,
    )
)  # fmt: skip
