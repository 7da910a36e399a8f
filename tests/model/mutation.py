"""A document of each kind that has every key, and documents that are nearly like it."""

import copy
import datetime as dt
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

ROLE = {
    "image": "vllm",
    "version": "1.0",
    "setup": "echo",
    "env": {"A": "1"},
    "env_from": ["TOKEN"],
    "flags": {"a": 1, "b": True, "c": "x", "d": [1, "a"], "e": {"f": [{"g": 1.5}]}},
    "mounts": [{"source": "/a", "target": "/b", "read_only": True}],
    "on": "head",
    "manifest": "vllm",
    "gpus": 4,
    "replicas": 2,
}
PART = {
    "name": "small",
    "allow": ["idle-gpus"],
    "model": {"path": "/m", "served_name": "m"},
    "defaults": {"setup_file": "a.sh"},
    "roles": {"worker": ROLE, "cache": {"manifest": "box"}},
    "router": {"kind": "gate", "flags": {"policy": "any"}, "epp_config": {"plugins": [{"type": "random-picker"}]}},
    "benchmark": {"manifest": "load", "flags": {"requests": 100}},
    "ready": {"timeout": "1h30m"},
    "ports": {"public": 8000, "shift": 10},
    "slurm": {
        "partition": "p",
        "account": "a",
        "qos": "q",
        "time": "4h",
        "segment": "role",
        "sbatch": {"exclude": ["n1"], "nice": 1},
        "srun": {"contiguous": True},
    },
}
SAMPLES: dict[str, dict[str, Any]] = {
    "recipe": {
        "schema": 1,
        "extends": "b.toml",
        **PART,
        "variants": {"low": PART},
        "on": {"gb300": {"ports": {"shift": 1}}},
    },
    "manifest": {
        "schema": 1,
        "name": "engine",
        "about": "an engine",
        "adapter": "plain",
        "kind": "engine",
        "urls": "node",
        "config_keys": ["a"],
        "config_tables": {"a.b": ["c"]},
        "config_flags": True,
        "differences": [{"since": "1.2", "about": "waits", "source": "seen with 1.1 and 1.2", "flags": ["wait"]}],
        "image": "eng",
        "program": {"name": "eng", "distribution": "engine", "version": "1", "command": ["eng"], "needs": ["sh"]},
        "ports": {"http": {"base": 6100, "step": 32, "span": 2, "everywhere": True}},
        "env": {"A": "1"},
        "flags": {"a": 1},
        "setup": "echo",
        "owned": {"port": "no"},
        "owned_env": {"CUDA_VISIBLE_DEVICES": "no"},
        "listens": ["side-port"],
        "listens_env": ["SIDE_PORT"],
        "gates": [
            {
                "kind": "http",
                "url": "/health",
                "status": 200,
                "expect": [
                    {"at": "a.b", "count": "workers", "where": {"x": True}},
                    {"equals": 1, "count": 2, "has": "a"},
                ],
            }
        ],
        "after": ["workers"],
        "implies": [
            {"role": "a", "manifest": "m", "on": "head", "beside": "decode", "when": "disaggregated", "front": True}
        ],
        "stop": {"signal": "TERM", "seconds": 2.5},
        "metrics": {"port": "http", "path": "/metrics"},
    },
    "cluster": {
        "schema": 1,
        "name": "gb300",
        "runtime": "pyxis",
        "scheduler": "slurm",
        "arch": "aarch64",
        "nodes": 4,
        "python": "/usr/bin/python3",
        "runs": "/lustre/$USER/runs",
        "interface": "ib0",
        "inherit": ["LANG"],
        "plain_http": ["registry:5000"],
        "store": {"path": "/lustre/$USER/images", "group_readable": False, "compressor": "lz4"},
        "versions": {"slurm": "24.11.5", "pyxis": "0.20", "enroot": "3.5", "apptainer": "1.4.5"},
        "slurm": {"time": "01:00:00", "exclusive": False, "mpi": "pmix", "kill_wait": 30, "sbatch": {"mem": "1G"}},
        "topology": {"segment": True, "domain_nodes": 18},
        "pyxis": {"squashfuse": True},
        "apptainer": {"gpu": "rocm", "home": True, "cache": "$HOME/cache"},
        "node": {
            "gpus": 4,
            "gpu": "gb300",
            "cpus": 144,
            "memory": "800G",
            "driver": "580.95",
            "gpu_request": "gres",
            "local": "/raid",
        },
        "env": {"A": "1"},
        "setup": {"inline": "ulimit"},
        "mounts": [{"source": "/a", "target": "/b"}],
        "images": {
            "a": "docker.io/a:1",
            "b": {"reference": "b", "versions": {"x": "1"}, "where": "compute"},
            "c": {"build": "smg", "args": {"A": "1"}},
        },
        "models": {"m": "/m", "n": {"path": "/n", "where": "compute"}},
    },
    "config": {"schema": 1, "cluster": "gb300"},
    "lock": {
        "schema": 1,
        "image": [
            {"cluster": "a", "alias": "b", "arch": "x86_64", "reference": "c", "size": 1, "env": {"A": "1"}},
            {"cluster": "a", "alias": "c", "arch": "aarch64", "reference": "c", "size": 1, "mtime": 1, "user": "u"},
            {
                "cluster": "a",
                "alias": "d",
                "arch": "x86_64",
                "reference": "c",
                "size": 1,
                "build": "0" * 64,
                "base": "b@sha256:1",
            },
        ],
    },
    "image": {
        "schema": 1,
        "description": "an image",
        "arch": ["x86_64", "aarch64"],
        "base": {"reference": "docker.io/library/python:3.12", "digest": f"sha256:{'0' * 64}"},
        "args": {"A_VERSION": "1", "B": ""},
        "programs": {"a": "${A_VERSION}"},
        "copy": [{"from": "a:${A_VERSION}", "digest": f"sha256:{'0' * 64}", "source": "/a", "target": "/b/c"}],
    },
}

VALUES = st.one_of(
    st.sampled_from(
        [0, 1, -1, 2, 65536, 10**10, 1.0, 2.5, 0.0, True, False, "", "a", "1", "10m", "0s", "a-0", "router"]
    ),
    st.sampled_from(
        [
            "benchmark",
            "A B",
            "none",
            "800G",
            "/a",
            "$HOME",
            "1-12",
            "4hours",
            "job",
            "workers",
            "x" * 64,
            "é",
            "a\n",
            [],
            {},
            [1],
            ["a"],
            {"a": 1},
            {"a": "b"},
        ]
    ),
    st.sampled_from(["/a", "$HOME", "1-12", "4hours", "job", "gres", "580"]),
    st.sampled_from(
        [dt.date(2024, 1, 1), dt.time(1), dt.datetime(2024, 1, 1, tzinfo=dt.UTC), [dt.time(1)], {"a": dt.time(1)}]
    ),
).map(copy.deepcopy)  # a value that is put in may be changed in turn
NAMES = st.sampled_from(
    [
        "schema",
        "name",
        "a",
        "gpu",
        "gpus",
        "router",
        "worker-0",
        "worker-a",
        "kind",
        "A",
        "",
        "a b",
        "x" * 32,
        "é",
        "a\n",
    ]
)


def tables(value: Any) -> Iterator[Any]:
    """Every table and list in a document."""
    if isinstance(value, (dict, list)):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from tables(item)


@st.composite
def mutated(draw: st.DrawFn, sample: dict[str, Any]) -> dict[str, Any]:
    """The sample with a few keys dropped, renamed, added or given other values."""
    document: dict[str, Any] = json.loads(json.dumps(sample))  # what the sample has twice is no longer one
    for _ in range(draw(st.integers(0, 3))):
        places = [place for place in tables(document) if place]
        place = draw(st.sampled_from(places)) if places else document
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place)))) if place else None
        change = draw(st.sampled_from(["drop", "set", "set", "add", "rename"]))
        if key is None or (change in ("add", "rename") and isinstance(place, list)):
            continue
        if change == "drop":
            del place[key]
        elif change == "set":
            place[key] = draw(VALUES)
        else:
            place[draw(NAMES)] = place.pop(key) if change == "rename" else draw(VALUES)
    return document
