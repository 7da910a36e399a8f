"""Recipes by chance, of every engine behind every router: the same for the same seed. Some can run, most cannot."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

Table = dict[str, Any]

ROUTERS: Mapping[str, Sequence[str]] = {
    "vllm": ("vllm-router", "smg", "llm-d", "direct"),
    "sglang": ("sglang-router", "smg", "direct"),
    "trtllm": ("smg", "direct"),
    "sim": ("smg", "vllm-router", "sglang-router", "llm-d", "direct"),
}
"""Engine → routers that take it."""

_IMAGES = {"vllm-router": "vllm", "sglang-router": "sglang"}
_ROUTER_FLAGS: Sequence[Table] = (
    {"policy": "round_robin"}, {"prometheus-port": 9999}, {"intra-node-data-parallel-size": 2}, {"nosuch": True},
)  # fmt: skip
_PORTS: Sequence[Table] = ({"shift": 1000}, {"public": 9000}, {"public": 6100}, {"shift": 50000}, {"public": 80})
_SLURM: Sequence[Table] = ({"segment": "role"}, {"segment": "job"}, {"segment": 4}, {"sbatch": {"exclude": "n1"}})
_CONNECTORS = ("NixlConnector", "OffloadingConnector", "MooncakeConnector", "LMCacheConnectorV1", "MultiConnector")


def recipe(dice: random.Random) -> Table:
    """One recipe."""
    engine = dice.choice(("vllm", "vllm", "vllm", "sglang", "trtllm", "sim"))
    kind = dice.choice(ROUTERS[engine]) if dice.random() < 0.95 else dice.choice(ROUTERS["sim"])
    halves = dice.random() < 0.4
    names = dice.choices((("prefill", "decode"), ("prefill",), ("worker", "decode")), (20, 1, 1))[0]
    made: Table = {
        "schema": 1,
        "name": "chance",
        "model": {"path": dice.choice(("/m", "/m/b c")), "served_name": dice.choice(("tiny", "org/M-1.5", "m_é"))},
        "roles": _roles(engine, kind, names if halves else ("worker",), dice),
    }
    if kind != "direct" or dice.random() < 0.5:
        made["router"] = _router(kind, halves, made["roles"], dice)
    made |= _seldom(dice, 0.1, ports=_PORTS, slurm=_SLURM)
    return made


def _seldom(dice: random.Random, share: float, **keys: Sequence[Any]) -> Table:
    """Some of the keys, each with one of its values."""
    return {key: dice.choice(values) for key, values in keys.items() if dice.random() < share}


def _roles(engine: str, kind: str, names: Sequence[str], dice: random.Random) -> Table:
    kv = dice.choice(("nixl", "nixl", "mooncake", None)) if names[0] != "worker" else None
    events, same = kind == "llm-d" and dice.random() < 0.4, dice.random() < 0.6
    made: Table = {}
    first = _ENGINES[engine](dice)
    for name in names:
        other = engine if dice.random() < 0.97 else dice.choice([*ROUTERS])
        role = {**(first if same and other == engine else _ENGINES[other](dice)), "manifest": other}
        role["replicas"] = dice.choice((1, 1, 2, 3))
        role |= {"kv": kv} if kv and other == "vllm" else {}
        role |= {"kv_events": True} if events else {}
        role |= _seldom(dice, 0.04, kv=("nixl", "mooncake"), kv_events=(True, False), setup=("echo",))
        role |= _seldom(dice, 0.04, on=("head", "dedicated", "decode"), image=("vllm", "sim"))
        role |= _seldom(dice, 0.03, config=({}, {"max-model-len": 100}, {"tensor-parallel-size": 2}, "absent.yaml"))
        made[name] = role
    return made


def _router(kind: str, halves: bool, roles: Table, dice: random.Random) -> Table:
    made: Table = {"kind": kind, "image": _IMAGES[kind]} if kind in _IMAGES else {"kind": kind}
    if any(role.get("kv_events") for role in roles.values()):
        made["epp_config"] = f"epp/precise{'-pd' * halves}.yaml"
    made |= _seldom(dice, 0.1, flags=_ROUTER_FLAGS, on=("head", "dedicated", "worker"), setup=("echo",))
    return made


def _vllm(dice: random.Random) -> Table:
    sizes = {
        "data-parallel-size": dice.choice((1, 1, 2, 3, 4, 8)),
        "tensor-parallel-size": dice.choice((1, 1, 2, 4, 8)),
        "pipeline-parallel-size": dice.choice((1, 1, 1, 1, 2)),
        "prefill-context-parallel-size": dice.choice((1, 1, 1, 1, 2)),
    }
    flags: Table = {name: size for name, size in sizes.items() if size > 1}
    flags |= {"data-parallel-external-lb": True} if dice.random() < 0.4 and sizes["data-parallel-size"] > 1 else {}
    flags |= _seldom(dice, 0.1, grpc=(True,))
    flags |= _seldom(dice, 0.04, **{
        "api-server-count": (1, 2, 0),
        "data-parallel-backend": ("ray", "mp"),
        "distributed-executor-backend": ("ray", "mp"),
        "kv-transfer-config": [{"kv_connector": each, "kv_role": "kv_both"} for each in _CONNECTORS],
        "decode-context-parallel-size": (2, 4),
    })  # fmt: skip
    taken = 1
    for size in sizes.values():
        taken *= size
    return {"gpus": _gpus(taken, dice), "flags": flags}


def _sglang(dice: random.Random) -> Table:
    tp, dp, pp = dice.choice((1, 2, 4, 8)), dice.choice((1, 1, 2, 4)), dice.choice((1, 1, 1, 2))
    attention = dp > 1 and dice.random() < 0.5
    flags: Table = {
        "tp-size": tp,
        "pp-size": pp,
        **({"attn-dp-size" if attention else "dp-size": dp} if dp > 1 else {}),
    }
    flags |= {"enable-dp-attention": True} if attention else {}
    flags |= _seldom(dice, 0.05, **{
        "smg-grpc-mode": (True,),
        "disaggregation-transfer-backend": ("nixl", "mooncake"),
    })  # fmt: skip
    return {"gpus": _gpus(tp * pp * (1 if attention else dp), dice), "flags": flags}


def _trtllm(dice: random.Random) -> Table:
    tp, pp = dice.choice((1, 2, 4, 8)), dice.choice((1, 1, 2))
    config: Table = {"tensor_parallel_size": tp, "pipeline_parallel_size": pp}
    config |= _seldom(dice, 0.1, moe_expert_parallel_size=(tp, 3), max_batch_size=(8,), nosuch=(1,))
    flags = _seldom(dice, 0.05, grpc=(True,), tp_size=(tp,))
    return {"gpus": _gpus(tp * pp, dice), "config": config, "flags": flags}


def _sim(dice: random.Random) -> Table:
    flags = _seldom(dice, 0.4, personality=("vllm", "sglang", "trtllm"))
    flags |= _seldom(dice, 0.2, **{"dp-size": (2,), "token-latency": (0.01,)})
    return {"gpus": dice.choice((0, 1, 4, 8)), "flags": flags}


def _gpus(taken: int, dice: random.Random) -> int:
    """As many as the engine takes, most of the time."""
    return taken if dice.random() < 0.95 else dice.choice((0, 1, 2, 4, 8, 16))


_ENGINES = {"vllm": _vllm, "sglang": _sglang, "trtllm": _trtllm, "sim": _sim}
