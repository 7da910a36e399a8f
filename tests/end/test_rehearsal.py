"""Recipes of real engines, rehearsed on this machine with the real routers: who answered, and what was handed over."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.end.deployment import Deployment, ended
from tests.end.environments import ROOT, environment
from tests.sim.processes import Answer, ask, samples

LAYOUT = """
schema = 1
name = "layout"
model = { path = "/m", served_name = "tiny" }
roles.worker = { manifest = "vllm", gpus = %d, replicas = %d, flags = { %s } }
router = { kind = "%s" }
ready.timeout = "60s"
"""
MOST = 60
"""Requests after which every rank must have had one."""


@pytest.fixture(autouse=True)
def small(deployment: Deployment) -> Iterator[None]:
    """Nodes of 4 GPUs."""
    own = deployment.home / "config" / "launch" / "clusters"
    own.mkdir(parents=True)
    (own / "local.toml").write_text('schema = 1\nname = "local"\nnode = { gpus = 4 }\nnodes = 8\n', encoding="utf-8")
    yield


def rehearse(user: Deployment, *words: str) -> None:
    up = user.up(*words, "--simulate", "--wait")
    assert up.returncode == 0, up.stderr


def request(user: Deployment, path: str, data: Any = None) -> Answer:
    return ask(8000 + user.shift, path, data)


def part(user: Deployment, model: str = "tiny") -> dict[str, Any]:
    """Who served one completion."""
    answer = request(user, "/v1/completions", {"model": model, "prompt": "a b c", "max_tokens": 2})
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.data["sim"]
    return found


def served(user: Deployment, wanted: set[tuple[str, int]], **more: Any) -> set[tuple[str, int]]:
    """Every worker and rank that served one of many."""
    seen: set[tuple[str, int]] = set()
    for _ in range(MOST):
        found = part(user, **more)
        seen.add((found["worker"], found["rank"]))
        if seen == wanted:
            break
    return seen


DEEPSEEK = "deepseek-ai/DeepSeek-V4-Pro"
RECIPES = {
    "vllm-router": {(f"worker-{each}", rank) for each in (0, 1) for rank in range(4)},
    "vllm-router-pd": {(f"decode-{each}", rank) for each in (0, 1) for rank in range(4)},
    "vllm-router-pd:2p2d": {(f"decode-{each}", rank) for each in (0, 1) for rank in range(4)},
    "smg-sglang": {("worker-0", 0), ("worker-1", 0)},
    "smg-sglang-pd": {("decode-0", 0)},
    "smg-trtllm": {("worker-0", 0)},
    "vllm-router-nodes": {("worker-0" + "-rank1" * (rank > 3), rank) for rank in range(8)},
    "smg-vllm-nodes": {("worker-0", rank) for rank in range(16)},
    "sglang-router": {("worker-0", 0), ("worker-1", 0)},
    "sglang-router-pd": {("decode-0", rank) for rank in range(8)},
}
HERE = {
    **dict.fromkeys(("sglang-router", "sglang-router-pd"), ("--set", f"router.image={environment('sglang-router')}")),
    "smg-sglang-pd": tuple(word for key in ("setup", "version", "env_from") for word in ("--unset", f"router.{key}")),
}
"""What the routers need on this machine, where there are no images."""
NAMES = {**dict.fromkeys(("smg-sglang", "smg-sglang-pd", "sglang-router"), "qwen"), "smg-trtllm": "dsv4-pro"}


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes(deployment: Deployment, recipe: str) -> None:
    """Ready, and every rank that should answer does."""
    # Without a session all requests of one text would go to one worker.
    rehearse(deployment, recipe, "--set", "router.flags.policy=round_robin", *HERE.get(recipe, ()))
    model = NAMES.get(recipe, DEEPSEEK)
    assert served(deployment, RECIPES[recipe], model=model) == RECIPES[recipe]
    if "-pd" in recipe:
        found = [part(deployment, model) for _ in range(4)]
        assert all(each["handed_over"] and not each["recomputed"] for each in found)
    deployment.down()


def test_without_a_router_the_first_of_a_replica_s_nodes_answers(deployment: Deployment) -> None:
    rehearse(deployment, "vllm-nodes")
    assert part(deployment, DEEPSEEK)["worker"] == "worker-0"
    assert {path.stem for path in (deployment.run / "logs").glob("worker-*")} == {"worker-0", "worker-0-rank1"}
    deployment.down()


SPOKEN = {
    "smg-vllm-grpc-pd": ("decode-0", ("--unset", "defaults.setup")),
    "sim-smg-pd:grpc": ("decode-1", ("--set", f'model.served_name="{DEEPSEEK}"')),
}
"""Recipe → one of its decode workers, and what it needs here."""


@pytest.mark.parametrize("recipe", SPOKEN)
def test_halves_over_grpc(deployment: Deployment, recipe: str) -> None:
    """What over HTTP SMG would not pass on: every prompt is computed by prefill, and fetched by decode."""
    worker, words = SPOKEN[recipe]
    rehearse(deployment, recipe, "--set", "router.flags.policy=round_robin", *words)
    for _ in range(4):
        asked = {"model": DEEPSEEK, "prompt": "a b c", "max_tokens": 3}
        answer = request(deployment, "/v1/completions", asked)
        assert (answer.status, answer.data["choices"][0]["text"]) == (200, "a b"), answer.body
    chat = {"model": DEEPSEEK, "messages": [{"role": "user", "content": "a b"}], "stream": True}
    assert len(request(deployment, "/v1/chat/completions", chat).events) > 3
    logs = deployment.run / "logs"
    said = {path.stem: path.read_text(encoding="utf-8").splitlines() for path in logs.glob("*-?.log")}
    played = {
        name: {line.split()[1] for line in lines if line.startswith('"Generate"')} for name, lines in said.items()
    }
    assert played["prefill-0"] == {"prefill"}
    assert played[worker] == {"decode:handed-over"}
    assert targets(deployment) == []
    deployment.down()


def test_what_is_missing_for_grpc_is_said_before_anything_starts(deployment: Deployment) -> None:
    """All that this Python has but one package, and the words that install it."""
    home = deployment.home / "lacking"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    (packages,) = (home / "lib").glob("python*/site-packages")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith("smg_grpc_proto"):
            (packages / path.name).symlink_to(path)
    words = [str(home / "bin" / "python"), "-m", "launcher", "up", "sim-smg-pd:grpc"]
    env = {**os.environ, "HOME": str(deployment.home), "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    ended = subprocess.run([*words, *deployment.ports], env=env, capture_output=True, text=True, cwd="/")
    assert ended.returncode == 4, ended.stderr
    assert "has no module `smg_grpc_proto`" in ended.stderr
    assert "-m pip install smg-grpc-proto" in ended.stderr
    assert deployment.runs == []


@pytest.mark.parametrize("manifest", ["sim", "vllm"])
def test_halves_by_mooncake(deployment: Deployment, manifest: str) -> None:
    """vllm-router asks each prefill worker's bootstrap server before it listens, and sends both legs one number."""
    engine = 'manifest = "vllm", gpus = 1' if manifest == "vllm" else 'manifest = "sim"'
    text = 'schema = 1\nname = "m"\nmodel = { path = "/m", served_name = "tiny" }\nready.timeout = "60s"\n'
    halves = f'defaults = {{ {engine}, kv = "mooncake" }}\nroles.prefill.replicas = 2\nroles.decode.replicas = 2\n'
    router = 'router = { kind = "vllm-router", flags = { policy = "round_robin" } }\n'
    rehearse(deployment, deployment.recipe(text + halves + router))
    found = [part(deployment) for _ in range(8)]
    assert all(each["handed_over"] and not each["recomputed"] for each in found)
    assert {each["worker"] for each in found} == {"decode-0", "decode-1"}
    assert {each["prefilled_by"] for each in found} == {"prefill-0", "prefill-1"}
    deployment.down()


EXTERNAL = "data-parallel-external-lb = true"
LAYOUTS = {
    # gpus, replicas, flags, router, who answers
    "hybrid": (8, 1, "dp = 8", "vllm-router", {("worker-0" + "-rank1" * (rank > 3), rank) for rank in range(8)}),
    "headless": (8, 2, "dp = 8", "smg", {(f"worker-{each}", rank) for each in (0, 1) for rank in range(8)}),
    "nodes": (8, 1, "tp = 8", "direct", {("worker-0", 0)}),
    "ranks over nodes": (16, 1, "tp = 8, dp = 2", "smg", {("worker-0", 0), ("worker-0", 1)}),
    "external": (4, 1, f"tp = 2, dp = 2, {EXTERNAL}", "smg", {("worker-0", 0), ("worker-0-rank1", 1)}),
    "external over nodes": (
        8,
        1,
        f"tp = 2, dp = 4, {EXTERNAL}",
        "vllm-router",
        {("worker-0" + (f"-rank{rank}" if rank else ""), rank) for rank in range(4)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(deployment: Deployment, layout: str) -> None:
    """Several servers of a replica find each other; each rank that a router can ask serves its part."""
    gpus, replicas, flags, router, wanted = LAYOUTS[layout]
    turns = () if router == "direct" else ("--set", "router.flags.policy=round_robin")
    rehearse(deployment, deployment.recipe(LAYOUT % (gpus, replicas, flags, router)), *turns)
    assert served(deployment, wanted) == wanted
    for target in targets(deployment):
        assert any(name.startswith("vllm:") for name in scraped(target))
    deployment.down()


def targets(user: Deployment) -> list[tuple[str, int]]:
    """Addresses of the workers' metrics, as Prometheus finds them in the run directory."""
    groups = json.loads((user.run / "scrape.json").read_text(encoding="utf-8"))
    found = [group["targets"][0].rpartition(":") for group in groups if group["labels"]["role"] == "worker"]
    return [(host, int(port)) for host, _, port in found]


def scraped(target: tuple[str, int]) -> dict[str, float]:
    return samples(ask(target[1], "/metrics", host=target[0]).body.decode())


def test_a_dead_follower_ends_the_run(deployment: Deployment) -> None:
    path = Path(deployment.recipe(LAYOUT % (8, 1, "dp = 8", "smg")))
    process = deployment.begin(str(path), "--simulate")
    deployment.until("ready")
    os.kill(deployment.pid("worker-0-rank1"), signal.SIGKILL)
    code, _, err = ended(process)
    assert code == 7, err
    assert deployment.outcome()["first"]["step"] == "worker-0-rank1"


def test_a_flag_the_engine_would_refuse_ends_the_rehearsal(deployment: Deployment) -> None:
    recipe = deployment.recipe(LAYOUT % (4, 1, "tp = 4, max-model-lenn = 4", "direct"))
    assert "unknown-flag" in deployment("check", recipe, "--simulate").stdout
    up = deployment.up(recipe, "--simulate", "--set", 'allow=["unknown-flag"]')
    assert up.returncode == 7
    assert "unrecognized arguments: --max-model-lenn" in up.stderr
