"""llm-d with the real Envoy, and stand-ins for the EPP and the sidecar: who answered, and what was handed over."""

import json
import os
import signal
from collections import Counter
from typing import Any

import pytest

from tests.end.deployment import Deployment, ended
from tests.llm_d.place import programs
from tests.sim.processes import Answer, ask, samples


@pytest.fixture
def user(deployment: Deployment) -> Deployment:
    """A user whose own part of the cluster file says where llm-d's programs are."""
    own = deployment.home / "config" / "launch" / "clusters"
    own.mkdir(parents=True)
    image = programs(deployment.home / "llm-d")
    (own / "local.toml").write_text(f'schema = 1\nname = "local"\n[images]\nllm-d = "{image}"\n', encoding="utf-8")
    return deployment


def request(user: Deployment, path: str, data: Any = None, port: int = 8000, **headers: str) -> Answer:
    return ask(port + user.shift, path, data, {name.replace("_", "-"): text for name, text in headers.items()})


def complete(user: Deployment, prompt: str = "a b c", **headers: str) -> dict[str, Any]:
    answer = request(user, "/v1/completions", {"model": "tiny", "prompt": prompt, "max_tokens": 2}, 8000, **headers)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.data
    return found


def ready(user: Deployment, *words: str) -> None:
    up = user.up(*words, "--wait")
    assert up.returncode == 0, up.stderr + "".join(
        path.read_text(errors="replace")[-2000:] for run in user.runs for path in (run / "logs").glob("e*")
    )


def test_aggregate(user: Deployment) -> None:
    ready(user, "sim-llm-d")
    served = Counter(complete(user, f"{number} b c")["sim"]["worker"] for number in range(8))
    assert served == {"worker-0": 4, "worker-1": 4}
    # A prompt goes where it was computed before.
    assert len({complete(user, "the same words again " * 20)["sim"]["worker"] for _ in range(4)}) == 1
    streamed = request(user, "/v1/chat/completions", {
        "model": "tiny", "stream": True, "messages": [{"role": "user", "content": "a b"}],
    }).events  # fmt: skip
    assert len(streamed) > 1
    assert request(user, "/v1/models").data["data"][0]["id"] == "tiny"
    assert request(user, "/metrics").status == 404
    user.down()


def test_prefill_and_decode(user: Deployment) -> None:
    """Every half has its share, no prompt is computed twice, and the log says who had a request."""
    ready(user, "sim-llm-d-pd")
    parts = [complete(user, f"{number} b c")["sim"] for number in range(8)]
    assert Counter(part["worker"] for part in parts) == {"decode-0": 4, "decode-1": 4}
    assert {part["prefilled_by"] for part in parts} == {"prefill-0", "prefill-1"}
    assert all(part["handed_over"] and not part["recomputed"] for part in parts)
    recomputed = 0.0
    for port in (6164, 6196):
        text = request(user, "/metrics", port=port).body.decode()
        recomputed += sum(value for name, value in samples(text).items() if "recomputed_requests" in name)
    assert recomputed == 0
    last = json.loads((user.run / "logs" / "envoy.log").read_text(encoding="utf-8").splitlines()[-1])
    sidecars, prefills = (
        {f"127.0.0.1:{port + user.shift}" for port in ports} for ports in ((9600, 9601), (6100, 6132))
    )
    assert last["endpoint"] in sidecars
    assert last["prefiller"] in prefills
    user.down()


def test_where_a_request_goes_is_not_the_clients_to_say(user: Deployment) -> None:
    ready(user, "sim-llm-d-pd")
    nowhere = "127.0.0.1:1"
    found = complete(user, x_gateway_destination_endpoint=nowhere, x_prefiller_host_port=nowhere)["sim"]
    assert found["handed_over"]
    user.down()


def test_other_nodes_may_ask_envoys_admin_port_two_things_alone(user: Deployment) -> None:
    ready(user, "sim-llm-d")
    assert request(user, "/ready", port=9911).body.strip() == b"LIVE"
    told = samples(request(user, "/stats/prometheus", port=9911).body.decode())
    assert told['envoy_cluster_membership_healthy{envoy_cluster_name="ext_proc"}'] == 1
    assert request(user, "/config_dump", port=9911).status == 404
    assert request(user, "/quitquitquit", {}, port=9911).status == 404
    assert complete(user)["sim"]
    user.down()


@pytest.mark.parametrize("step", ["decode-1", "sidecar-0", "epp", "envoy"])
def test_the_end_of_any_part_ends_the_run(user: Deployment, step: str) -> None:
    process = user.begin("sim-llm-d-pd")
    user.until("ready")
    os.kill(user.pid(step), signal.SIGKILL)
    code, _, err = ended(process)
    assert code == 7, err
    assert user.outcome()["first"]["step"] == step
    assert user.left() == []


def test_a_configuration_of_the_users_own_is_what_the_epp_reads(user: Deployment) -> None:
    (user.home / "epp").mkdir()
    (user.home / "epp" / "own.yaml").write_text(
        "plugins:\n- type: no-hit-lru-scorer\n  name: lru\n- type: single-profile-handler\n"
        "schedulingProfiles:\n- name: mine\n  plugins:\n  - pluginRef: lru\n    weight: 3\n",
        encoding="utf-8",
    )
    recipe = user.recipe(
        'schema = 1\nname = "own"\nextends = "sim-llm-d"\n[router]\nepp_config = "epp/own.yaml"\n', "own.toml"
    )
    ready(user, recipe)
    read = json.loads((user.run / "llm-d" / "epp.json").read_text(encoding="utf-8"))
    assert [profile["name"] for profile in read["schedulingProfiles"]] == ["mine"]
    assert {complete(user, f"{number}")["sim"]["worker"] for number in range(4)} == {"worker-0", "worker-1"}
    user.down()


def test_absent_programs_are_said_before_anything_starts(deployment: Deployment) -> None:
    up = deployment.up("sim-llm-d", "--wait", env={"PATH": "/usr/bin:/bin"})
    assert up.returncode == 4
    assert "`epp` is not on `PATH`" in up.stderr
    assert deployment.runs == []


LAYOUTS = {
    "llm-d": {("worker-0", 0), ("worker-1", 0)},
    "llm-d:ranks": {("worker-0", 0), ("worker-0-rank1", 1)},
    "llm-d-pd": {("decode-0", 0)},
    "llm-d-pd:ranks": {("decode-0", 0), ("decode-0-rank1", 1)},
    "llm-d-offload": {("decode-0", 0)},
}
"""Recipe → the servers and ranks that must answer."""


@pytest.mark.parametrize("recipe", LAYOUTS)
def test_rehearsed(user: Deployment, recipe: str) -> None:
    """Every rank that the EPP is told of is used, and what is to be handed over is."""
    ready(user, recipe, "--simulate")
    model = "MiniMaxAI/MiniMax-M3"
    parts = []
    for number in range(8):
        asked = {"model": model, "prompt": f"{number} b c", "max_tokens": 2}
        answer = request(user, "/v1/completions", asked)
        assert answer.status == 200, answer.body
        parts.append(answer.data["sim"])
    assert {(part["worker"], part["rank"]) for part in parts} == LAYOUTS[recipe]
    if "worker-0" not in {part["worker"] for part in parts}:
        assert all(part["handed_over"] and not part["recomputed"] for part in parts)
    user.down()
