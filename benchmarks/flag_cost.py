"""What the flags of one role cost: CPU milliseconds to read a catalogue and check against it, as JSON on stdout."""

import json
import statistics
import sys
import time
from collections.abc import Mapping
from typing import Any

from launcher.checks import CHECKS, Case
from launcher.execute.library import data
from launcher.model.catalogue import load
from tests import jobs

ROUNDS = 200
RULES = "launcher.checks.rules"
SITE, ADAPTERS, BESIDE = jobs.cluster(), jobs.adapters(), jobs.router("direct")
FLAGS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("vllm", "0.33.0"): {
        "data-parallel-size": 8,
        "enable-expert-parallel": True,
        "gpu-memory-utilization": 0.92,
        "kv-cache-dtype": "fp8",
        "kv-transfer-config": {"kv_connector": "NixlConnector", "kv_role": "kv_both"},
        "max-model-len": "64k",
        "max-num-batched-tokens": 16384,
        "max-num-seqs": 256,
        "compilation-config": {"mode": 3, "cudagraph_mode": "FULL_DECODE_ONLY"},
        "reasoning-parser": "deepseek_r1",
        "stream-interval": 20,
        "trust-remote-code": True,
    },
    ("sglang", "0.5.23"): {
        "attention-backend": "trtllm_mla",
        "chunked-prefill-size": 16384,
        "context-length": 9600,
        "cuda-graph-max-bs-decode": 256,
        "disaggregation-transfer-backend": "nixl",
        "kv-cache-dtype": "fp8_e4m3",
        "max-running-requests": 1024,
        "mem-fraction-static": 0.85,
        "moe-runner-backend": "flashinfer_trtllm",
        "page-size": 64,
        "tp-size": 8,
        "trust-remote-code": True,
    },
}
"""What recipes of these engines say, (program, version) → flags."""


def milliseconds(program: str, version: str) -> float:
    """The median cost of a role's catalogue, file read and all, and of every check on its flags and between them."""
    path = data() / "manifests" / "flags" / program / f"{version}.json"
    rules = [rule for rule in CHECKS.values() if rule.__module__.startswith(("launcher.checks.flag", RULES))]
    engine = jobs.manifest(kind="engine", program={"name": program, "version": version, "command": ["true"]})
    taken = []
    for _ in range(ROUNDS):
        began = time.process_time()
        catalogue = load(path.read_text(encoding="utf-8"))
        flags = dict(FLAGS[program, version])
        role = jobs.role("worker", engine, flags=flags, catalogue=catalogue, version=version)
        case = Case(jobs.job(role, BESIDE, on=SITE), ADAPTERS)
        found = [finding for rule in rules for finding in rule(case)]
        taken.append(1000 * (time.process_time() - began))
        if found:
            raise RuntimeError(f"{program} {version}: {found[0].message}")
    return statistics.median(taken)


if __name__ == "__main__":
    json.dump({f"{program} {version}": milliseconds(program, version) for program, version in FLAGS}, sys.stdout)
