"""KV events of rehearsed recipes behind llm-d: at the one socket all are told of, by the topics that the EPP knows."""

import json

import pytest

from tests.end.deployment import Deployment
from tests.llm_d.place import programs
from tests.llm_d.words import BLOCKS
from tests.sim.processes import ask

MODEL = "MiniMaxAI/MiniMax-M3"
MOST = 60
RECIPES = {
    # Decode workers are picked by the address of their sidecars.
    "llm-d-pd:precise": {"prefill-0": 6100, "decode-0": 9600},
    "llm-d-pd:ranks": {"prefill-0": 6100, "prefill-0-rank1": 6101, "decode-0": 9600, "decode-0-rank1": 9601},
    "llm-d:ranks": {"worker-0": 6100, "worker-0-rank1": 6101},
}
"""Recipe → each worker and the port that its topic names."""


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_endpoint_is_heard(deployment: Deployment, recipe: str) -> None:
    own = deployment.home / "config" / "launch" / "clusters"
    own.mkdir(parents=True)
    image = programs(deployment.home / "llm-d")
    (own / "local.toml").write_text(f'schema = 1\nname = "local"\n[images]\nllm-d = "{image}"\n', encoding="utf-8")
    up = deployment.up(recipe, "--simulate", "--wait")
    assert up.returncode == 0, up.stderr
    told = json.loads((deployment.run / "llm-d" / "epp.json").read_text(encoding="utf-8"))["plugins"]
    (renderer,) = (each["parameters"]["vllm"]["url"] for each in told if each["type"] == "token-producer")
    rendered = ask(int(renderer.rpartition(":")[2]), "/v1/completions/render", {"model": MODEL, "prompt": "a b"}).data
    assert len(rendered[0]["token_ids"]) == 2
    ports = (port + deployment.shift for port in RECIPES[recipe].values())
    wanted = {f'{BLOCKS}{{endpoint="127.0.0.1:{port}",model="{MODEL}"}}' for port in ports}
    found: set[str] = set()
    for number in range(MOST):
        words = " ".join(f"{number}-{word}" for word in range(20))
        answer = ask(8000 + deployment.shift, "/v1/completions", {"model": MODEL, "prompt": words, "max_tokens": 1})
        assert answer.status == 200, answer.body
        lines = ask(9090 + deployment.shift, "/metrics").body.decode().splitlines()
        found = {line.rpartition(" ")[0] for line in lines if line.startswith(BLOCKS)}
        if found == wanted:
            break
    assert found == wanted
    assert deployment("down", "last").returncode == 0
    assert deployment.left() == []
