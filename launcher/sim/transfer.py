"""vLLM's hand-over: `--kv-transfer-config` with a NIXL connector, and `kv_transfer_params` in the requests.

Fields as vLLM 0.32.0 sends and expects them (`kv_connector/v1/nixl/pull_scheduler.py`, `config/kv_transfer.py`).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from launcher.sim.ask import Ask, Problem, whole
from launcher.sim.blocks import BLOCK
from launcher.sim.handoff import Lost, Record, Shelf, Store, fetch, record
from launcher.sim.leg import Leg, Listener

ROLES = ("kv_producer", "kv_consumer", "kv_both")
POLICIES = ("fail", "recompute")
_KEYS = {
    "kv_connector",
    "engine_id",
    "kv_buffer_device",
    "kv_buffer_size",
    "kv_role",
    "kv_rank",
    "kv_parallel_size",
    "kv_ip",
    "kv_port",
    "kv_connector_extra_config",
    "kv_connector_module_path",
    "enable_permute_local_kv",
    "kv_load_failure_policy",
}
_REMOVED = {"kv_rank", "kv_parallel_size"}


@dataclass(frozen=True)
class Transfer:
    """What `--kv-transfer-config` says that matters here."""

    connector: str
    role: str
    engine_id: str | None = None
    policy: str = "fail"
    nixl: bool = True
    mooncake: bool = False


def parse(text: str) -> Transfer:
    """The Transfer in `text`. Raises ValueError as vLLM's parser would refuse it."""
    try:
        raw = json.loads(text)
    except RecursionError as fault:
        raise ValueError("nested too deeply") from fault
    if not isinstance(raw, dict):
        raise ValueError("a JSON object is wanted")
    for key in raw:
        if key not in _KEYS or key in _REMOVED:
            raise ValueError(f"{key}: Unexpected keyword argument")
    connector = raw.get("kv_connector")
    role = raw.get("kv_role")
    policy = raw.get("kv_load_failure_policy", "fail")
    if not isinstance(connector, str) or not connector:
        raise ValueError("kv_connector: the name of a connector is wanted")
    if role not in ROLES:
        raise ValueError(f"kv_role: one of {', '.join(ROLES)} is wanted")
    if policy not in POLICIES:
        raise ValueError(f"kv_load_failure_policy: one of {', '.join(POLICIES)} is wanted")
    return Transfer(connector, role, raw.get("engine_id"), policy, _has(raw, "Nixl"), _has(raw, "MooncakeConnector"))


def _has(raw: Mapping[str, Any], name: str) -> bool:
    """Whether the connector, or a child of a MultiConnector, has a name that begins so."""
    if str(raw.get("kv_connector", "")).startswith(name):
        return True
    extra = raw.get("kv_connector_extra_config")
    children = extra.get("connectors") if isinstance(extra, dict) else None
    return isinstance(children, list) and any(isinstance(child, dict) and _has(child, name) for child in children)


def parameters(ask: Ask) -> Mapping[str, Any]:
    """What a request says of its hand-over; empty where it says nothing. Raises Problem."""
    params = ask.raw.get("kv_transfer_params") or {}
    if not isinstance(params, dict):
        raise Problem(400, "kv_transfer_params: a table is wanted", param="kv_transfer_params")
    return params


def received(transfer: Transfer, ask: Ask, fetched: Callable[[], Record]) -> Leg:
    """The decode leg with the prompt that is `fetched`; where it is lost, or its place is none (ValueError), the policy
    decides. Raises Problem.
    """
    try:
        found = fetched()
        if found != record(found.worker, ask.prompts[0]):
            raise Lost("the prompt handed over is another one")
    except (Lost, ValueError) as fault:
        if transfer.policy == "recompute":
            return Leg("decode", recomputed=True)
        raise Problem(500, f"KV load failure: {fault}", "InternalServerError") from fault
    return Leg("decode", source=found.worker)


@dataclass(frozen=True)
class Side:
    """Where this worker's side channel listens: `port` of its first data-parallel rank, one more for each further."""

    host: str
    port: int
    ranks: range


class Nixl:
    """The hand-over of one vLLM worker."""

    def __init__(self, transfer: Transfer, worker: str, side: Side) -> None:
        self._transfer = transfer
        self._worker = worker
        self._side = side
        self._store = Store()

    def listeners(self) -> tuple[Listener, ...]:
        """The side channel of every rank; a pure consumer has none."""
        if self._transfer.role == "kv_consumer":
            return ()
        answer = Shelf(self._store).answer
        return tuple(Listener(self._side.host, self._side.port + rank, answer) for rank in self._side.ranks)

    def begin(self, ask: Ask) -> Leg:
        """A prefill leg is asked for by `do_remote_decode`; everything else on a consumer should come with a prompt."""
        params = parameters(ask)
        if params.get("do_remote_decode"):
            return Leg("prefill")
        if self._transfer.role == "kv_producer":
            return Leg()
        if not params.get("do_remote_prefill") or not _complete(params):
            return Leg("decode", recomputed=True)
        place, key = (str(params["remote_host"]), int(params["remote_port"])), str(params["remote_request_id"])
        return received(self._transfer, ask, lambda: fetch(*place, key, 0.0))

    def end(self, leg: Leg, ask: Ask, key: str, rank: int) -> Mapping[str, Any] | None:
        """Keep the prompt; the answer tells the router where."""
        if leg.part != "prefill":
            return None
        kept = record(self._worker, ask.prompts[0])
        self._store.put(key, kept)
        return {
            "do_remote_prefill": True,
            "do_remote_decode": False,
            "remote_block_ids": [list(range(1, 2 + max(0, kept.tokens - 1) // BLOCK))],
            "remote_engine_id": self._transfer.engine_id or self._worker,
            "remote_request_id": key,
            "remote_host": self._side.host,
            "remote_port": self._side.port + rank,
            "tp_size": 1,
            "remote_num_tokens": kept.tokens,
        }


def _complete(params: Mapping[str, Any]) -> bool:
    """Whether all is said; vLLM ignores incomplete parameters with a warning and computes the prompt itself."""
    wanted = ("remote_engine_id", "remote_host", "remote_port", "remote_request_id", "remote_block_ids")
    port = params.get("remote_port")
    return all(params.get(name) for name in wanted) and whole(port)
