"""The stand-ins refuse what the real programs refuse, so that what starts with them would start with those."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.end.environments import environment
from tests.llm_d.reading import MOST
from tests.llm_d.words import ROOT

GOOD: dict[str, Any] = {
    "apiVersion": "llm-d.ai/v1alpha1",
    "kind": "EndpointPickerConfig",
    "plugins": [
        {"type": "queue-scorer"},
        {"type": "max-score-picker"},
        {"type": "file-discovery", "name": "files", "parameters": {"path": "endpoints.json"}},
    ],
    "schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "queue-scorer"}]}],
    "dataLayer": {"discovery": {"pluginRef": "files"}},
}
ENDPOINT = {"name": "a", "address": "127.0.0.1", "port": "8000"}
WORDS = ("--pool-name=p", "--config-file=epp.json", "--secure-serving=false")


def run(folder: Path, module: str, *words: str) -> tuple[int, str]:
    """Exit code and last words of a stand-in that ends at once."""
    python = environment("llm-d") / "bin" / "python"
    env = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    found = subprocess.run(
        [python, "-m", f"tests.llm_d.{module}", *words], cwd=folder, env=env, capture_output=True, text=True, timeout=60
    )
    return found.returncode, found.stderr.strip()


def written(folder: Path, configuration: dict[str, Any], *endpoints: Any) -> None:
    (folder / "epp.json").write_text(json.dumps(configuration), encoding="utf-8")
    (folder / "endpoints.json").write_text(json.dumps({"endpoints": list(endpoints)}), encoding="utf-8")


def plugins(*more: dict[str, Any]) -> dict[str, Any]:
    return {**GOOD, "plugins": [*GOOD["plugins"], *more]}


BAD = {
    "no pool": (GOOD, ENDPOINT, WORDS[1:], "either pool-name or endpoint-selector must be set"),
    "tls": (GOOD, ENDPOINT, WORDS[:2], "no TLS"),
    "no such flag": (GOOD, ENDPOINT, (*WORDS, "--grpc-prot=1"), "unknown flag: --grpc-prot"),
    "a retired flag": (GOOD, ENDPOINT, (*WORDS, "--lora-info-metric=x"), "is deprecated and cannot be used"),
    "a switch with a word": (GOOD, ENDPOINT, (*WORDS, "--tracing=no"), "invalid argument"),
    "no such plugin": (plugins({"type": "queu-scorer"}), ENDPOINT, WORDS, "type 'queu-scorer' is not registered"),
    "no such parameter": (
        plugins({"type": "no-hit-lru-scorer", "parameters": {"lruSiez": 1}}), ENDPOINT, WORDS, "field 'lruSiez'",
    ),
    "an experiment": (plugins({"type": "session-affinity-scorer"}), ENDPOINT, WORDS, "Alpha stability level"),
    "both ways to name a pool": (GOOD, ENDPOINT, (*WORDS, "--endpoint-selector=a=b"), "either pool-name or"),
    "two configurations": (GOOD, ENDPOINT, (*WORDS, "--config-text={}"), "cannot be set at the same time"),
    "a gauge that is never renewed": (
        GOOD, ENDPOINT, (*WORDS, "--refresh-prometheus-metrics-interval=0s"), "must be positive",
    ),
    "nothing is ever fresh": (GOOD, ENDPOINT, (*WORDS, "--metrics-staleness-threshold=-1s"), "must be positive"),
    "too many endpoints": (GOOD, {**ENDPOINT, "labels": {"a": "x" * MOST}}, WORDS, "exceeds 1 MiB"),
    "no port": (GOOD, {**ENDPOINT, "port": "0"}, WORDS, "invalid port"),
    "two handlers": (
        plugins({"type": "single-profile-handler"}, {"type": "disagg-profile-handler"}), ENDPOINT, WORDS, "only one",
    ),
    "no such decider": (
        plugins({"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "x"}}}), ENDPOINT, WORDS,
        "dependency on the unregistered plugin x",
    ),
    "no discovery": ({**GOOD, "dataLayer": {}}, ENDPOINT, WORDS, "no Kubernetes"),
    "a strange key": ({**GOOD, "profiles": []}, ENDPOINT, WORDS, "unknown field 'profiles'"),
    "a later version": ({**GOOD, "apiVersion": "llm-d.ai/v1"}, ENDPOINT, WORDS, "no kind"),
    "a port that is a number": (GOOD, {**ENDPOINT, "port": 8000}, WORDS, "cannot unmarshal number"),
    "a host name": (GOOD, {**ENDPOINT, "address": "node1"}, WORDS, "is not IPv4"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_the_epp(tmp_path: Path, case: str) -> None:
    configuration, endpoint, words, said = BAD[case]
    written(tmp_path, configuration, endpoint)
    code, err = run(tmp_path, "epp", *words, "--metrics-port=0", "--grpc-port=0", "--grpc-health-port=0")
    assert code != 0
    assert said in err


PLAIN = "--secure-proxy=false"
STRANGE = {
    "no such flag": ("--connector=nixlv2",),
    "no such protocol": ("--kv-connector=nixl", PLAIN),
    "tls": (),
    "no port": ("--port=0", PLAIN),
    "no port of its worker": ("--model-server-port=65536", PLAIN),
    "no bootstrap port": ("--kv-connector=nixlv2", "--mooncake-bootstrap-port=0", PLAIN),
    "chunks of nothing": ("--decode-chunk-size=-1", PLAIN),
    "pulling from peers by mooncake": ("--enable-p2p-pull", "--kv-connector=mooncake", PLAIN),
    "a pool to look workers up in, and none named": ("--enable-ssrf-protection", PLAIN),
    "a switch with a word": ("--secure-proxy=no",),
}


@pytest.mark.parametrize("words", STRANGE.values(), ids=STRANGE)
def test_the_sidecar_ends_with_0_at_what_it_does_not_know(tmp_path: Path, words: tuple[str, ...]) -> None:
    code, err = run(tmp_path, "sidecar", *words)
    assert code == 0
    assert err
